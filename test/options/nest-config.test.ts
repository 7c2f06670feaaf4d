import { Module, type DynamicModule, type INestApplicationContext } from '@nestjs/common';
import { ConfigModule, ConfigService, registerAs, type ConfigType } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { getQueueToken, QueueEvents, QueueModule, TaskHandler, type QueueOptions } from '../../lib/index.js';
import { allClosed } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();
vi.stubEnv('SHOP_DATABASE', database.url);
let app: INestApplicationContext | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
  await allClosed(database);
});

afterAll(() => void vi.unstubAllEnvs());

/** As an application writes them: read when the module is made, not when the file is loaded. */
const shopConfig = registerAs('shop-queue', (): QueueOptions => ({
  connection: process.env['SHOP_DATABASE'],
  queue: 'shop',
  concurrency: 2,
}));
const billingConfig = registerAs('billing-queue', (): QueueOptions => ({
  connection: process.env['SHOP_DATABASE'],
  queue: 'billing',
}));

class Handlers {
  @TaskHandler('a')
  shop(): string {
    return 'of the shop';
  }

  @TaskHandler('a', { queue: 'billing' })
  billing(): string {
    return 'of billing';
  }
}

class ShopHandler {
  @TaskHandler('a')
  shop(): string {
    return 'of the shop';
  }
}

@Module({})
class AppModule {}

async function boot(imports: DynamicModule['imports'], handlers: DynamicModule['providers']): Promise<void> {
  app = await NestFactory.createApplicationContext(
    { module: AppModule, imports: imports ?? [], providers: handlers ?? [] },
    { logger: false, abortOnError: false },
  );
}

/** Inserts a task and waits for its end: into which table it went, and what its handler said. */
async function run(name?: string): Promise<unknown> {
  const events = app?.get(getQueueToken(name, QueueEvents), { strict: false });
  const queue = app?.get(getQueueToken(name), { strict: false });
  if (!events || !queue) throw new Error('the application has not been started');
  const completed = nextEvent(events, 'task.completed');
  const id = await queue.insertTask({ topic: 'a' });
  const { message } = await completed;
  const { rows } = await database.pool.query<{ name: string }>(
    `select tableoid::regclass::text as name from ${name ?? 'shop'} where id = $1`,
    [id],
  );
  return [rows[0]?.name, message];
}

test('a namespace of @nestjs/config gives the options by asProvider()', async () => {
  await boot([QueueModule.forRootAsync(shopConfig.asProvider())], [ShopHandler]);
  expect(await run()).toEqual(['shop', 'of the shop']);
});

test('so do two namespaces for two queues, one of them with a name', async () => {
  await boot(
    [
      QueueModule.forRootAsync(shopConfig.asProvider()),
      QueueModule.forRootAsync({ ...billingConfig.asProvider(), name: 'billing' }),
    ],
    [Handlers],
  );
  expect(await run()).toEqual(['shop', 'of the shop']);
  expect(await run('billing')).toEqual(['billing', 'of billing']);
});

test.each<[string, DynamicModule['imports'], () => DynamicModule]>([
  [
    'the key of a namespace',
    [],
    () =>
      QueueModule.forRootAsync({
        imports: [ConfigModule.forFeature(shopConfig)],
        inject: [shopConfig.KEY],
        useFactory: (config: ConfigType<typeof shopConfig>) => config,
      }),
  ],
  [
    'the global ConfigService',
    [ConfigModule.forRoot({ isGlobal: true, ignoreEnvFile: true, load: [shopConfig] })],
    () =>
      QueueModule.forRootAsync({
        inject: [ConfigService],
        useFactory: (config: ConfigService) => ({
          ...config.getOrThrow<QueueOptions>('shop-queue'),
          connection: config.getOrThrow<string>('SHOP_DATABASE'),
        }),
      }),
  ],
])('%s is injected into useFactory', async (_, imports, queue) => {
  await boot([...(imports ?? []), queue()], [ShopHandler]);
  expect(await run()).toEqual(['shop', 'of the shop']);
});

test('a mistake in a namespace keeps the application from booting', async () => {
  const mistaken = registerAs('mistaken', (): QueueOptions => ({ ...shopConfig(), concurrency: 0 }));
  await expect(boot([QueueModule.forRootAsync(mistaken.asProvider())], [ShopHandler])).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('concurrency') as unknown,
  });
});
