import { Injectable, Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  getQueueToken,
  PurgeRoutine,
  QueueClient,
  QueueModule,
  type QueueOptions,
  type QueueOptionsFactory,
} from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { withoutRoutines } from '../support/queue-app.js';

const database = await useDatabase();
const { pool } = database;

// The environment names another table and keeps history for ten days.
beforeAll(async () => {
  for (const table of ['from_options', 'from_environment']) {
    await (await boot(QueueModule.forRoot({ ...bare, table, worker: false }))).close();
  }
  vi.stubEnv('QUEUE_TABLE', 'from_environment');
  vi.stubEnv('QUEUE_NAME', 'bell_from_environment');
  vi.stubEnv('QUEUE_PURGE_MAX_AGE', '10');
});

afterAll(() => void vi.unstubAllEnvs());

@Injectable()
class Settings {
  readonly table: string | undefined = 'from_options';
  readonly purgeMaxAgeDays: number | undefined = 5;
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class Factory implements QueueOptionsFactory {
  createQueueOptions(): QueueOptions {
    return explicit;
  }
}

@Injectable()
class AsyncFactory implements QueueOptionsFactory {
  constructor(readonly settings: Settings) {}

  async createQueueOptions(): Promise<QueueOptions> {
    return { ...explicit, table: this.settings.table };
  }
}

@Module({ imports: [SettingsModule], providers: [AsyncFactory], exports: [AsyncFactory] })
class FactoryModule {}

const bare: QueueOptions = { connection: database.url, ...withoutRoutines };
const explicit: QueueOptions = { ...bare, table: 'from_options', purgeMaxAgeDays: 5 };

@Module({})
class AppModule {}

function boot(queue: DynamicModule): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(
    { module: AppModule, imports: [queue] },
    { logger: false, abortOnError: false },
  );
}

/** What an application does with its options: where it inserts, and which of three ages it purges. */
async function observe(
  queue: DynamicModule,
  name?: string,
): Promise<{ readonly table: string | undefined; readonly purged: number | undefined }> {
  const app = await boot(queue);
  const client: QueueClient = app.get(getQueueToken(name));
  const purge: PurgeRoutine = app.get(getQueueToken(name, PurgeRoutine), { strict: false });
  await client.insertTask({ topic: 'probe' });
  const { rows } = await pool.query<{ name: string }>(`
    with options as (delete from from_options returning tableoid::regclass::text as name),
      environment as (delete from from_environment returning tableoid::regclass::text as name)
    select name from options union all select name from environment`);
  const table = rows[0]?.name;
  await pool.query(`
    insert into ${table} (status, data_hora)
    select 'sucesso', now() - days * interval '1 day' from unnest(array[7, 12, 100]) days`);
  const purged = await purge.run();
  await pool.query(`delete from ${table}`);
  await app.close();
  return { table, purged };
}

const fromOptions = { table: 'from_options', purged: 3 };
const fromEnvironment = { table: 'from_environment', purged: 2 };

test('forRoot: options win over the environment, which wins over the defaults', async () => {
  expect(await observe(QueueModule.forRoot(explicit))).toEqual(fromOptions);
  expect(await observe(QueueModule.forRoot(bare))).toEqual(fromEnvironment);
  vi.stubEnv('QUEUE_PURGE_MAX_AGE', undefined);
  // The default is sixty days.
  expect(await observe(QueueModule.forRoot(bare))).toEqual({ table: 'from_environment', purged: 1 });
  vi.stubEnv('QUEUE_PURGE_MAX_AGE', '10');
});

test('an option that is undefined leaves the word to the environment', async () => {
  const undecided = { ...bare, table: undefined, purgeMaxAgeDays: undefined };
  expect(await observe(QueueModule.forRoot(undecided))).toEqual(fromEnvironment);
});

test.each<readonly [how: string, module: (options: QueueOptions) => DynamicModule]>([
  ['useFactory', (options) => QueueModule.forRootAsync({ useFactory: () => options })],
  ['an asynchronous useFactory', (options) => QueueModule.forRootAsync({ useFactory: async () => options })],
])('forRootAsync with %s does the same', async (_, module) => {
  expect(await observe(module(explicit))).toEqual(fromOptions);
  expect(await observe(module(bare))).toEqual(fromEnvironment);
});

test('useFactory gets what it injects', async () => {
  const module = QueueModule.forRootAsync({
    imports: [SettingsModule],
    inject: [Settings],
    useFactory: ({ table, purgeMaxAgeDays }: Settings) => ({ ...bare, table, purgeMaxAgeDays }),
  });
  expect(await observe(module)).toEqual(fromOptions);
});

test('forRootAsync with useClass makes the factory', async () => {
  expect(await observe(QueueModule.forRootAsync({ useClass: Factory }))).toEqual(fromOptions);
  const withImports = QueueModule.forRootAsync({ imports: [SettingsModule], useClass: AsyncFactory });
  expect(await observe(withImports)).toEqual(fromOptions);
});

test('forRootAsync with useExisting takes the factory of another module', async () => {
  const module = QueueModule.forRootAsync({ imports: [FactoryModule], useExisting: AsyncFactory });
  expect(await observe(module)).toEqual(fromOptions);
});

test('forRootAsync makes a named queue', async () => {
  const module = QueueModule.forRootAsync({ name: 'billing', useFactory: () => explicit });
  expect(await observe(module, 'billing')).toEqual(fromOptions);
});

test('a factory that gives nothing, throws, or is missing keeps the application from booting', async () => {
  const nothing = { useFactory: () => undefined as unknown as QueueOptions };
  await expect(boot(QueueModule.forRootAsync(nothing))).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('must be an object, not undefined'),
  });
  const broken = QueueModule.forRootAsync({ useFactory: () => Promise.reject(new Error('no vault')) });
  await expect(boot(broken)).rejects.toThrow('no vault');
  await expect(
    boot(QueueModule.forRootAsync({ useFactory: () => ({ ...bare, concurrency: 0 }) })),
  ).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
  expect(() => QueueModule.forRootAsync({})).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
});
