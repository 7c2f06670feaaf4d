import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Module, type DynamicModule } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueEvents, QueueModule, QueueWorker, TaskHandler } from '../../lib/index.js';
import { QueueClient } from '../../lib/client/queue-client.js';
import { documentAt } from '../docs/documents.js';
import { useDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { LogLines } from '../support/log-lines.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();
const address = new URL(database.url);
const [example] = documentAt('docs/guides/nest.md').blocks.filter(({ language }) => language === 'ini');
const before = { ...process.env };

/** The file of the guide, with the connection of this run. */
const own: Readonly<Record<string, string>> = {
  DB_HOST: address.hostname,
  DB_PORT: address.port,
  DB_BASE: address.pathname.slice(1),
  DB_USER: address.username,
  DB_PASS: `"${decodeURIComponent(address.password)}"`,
};
let envFilePath: string;

beforeEach(async () => {
  envFilePath = join(await makeTemporaryFolder(), '.env');
});

// ConfigModule writes into the environment.
afterEach(() => {
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
});

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }
}

@Module({})
class AppModule {}

/** Runs a task in an application and answers the lines of its log. */
async function runWith(...imports: NonNullable<DynamicModule['imports']>): Promise<LogLines> {
  const logger = new LogLines();
  const app = await NestFactory.createApplicationContext(
    { module: AppModule, imports, providers: [Handlers] },
    { logger, abortOnError: false },
  );
  const completed = nextEvent(app.get(QueueEvents), 'task.completed');
  await app.get(QueueClient).insertTask({ topic: 'greet' });
  await completed;
  expect(app.get(QueueWorker, { strict: false }).state).toBe('running');
  await app.close();
  return logger;
}

test('the .env file of the guide configures a queue without any option', async () => {
  const lines = (example?.text ?? '').split('\n').map((line) => {
    const [name = ''] = line.split('=');
    return name in own ? `${name}=${own[name]}` : line;
  });
  await writeFile(envFilePath, lines.join('\n'));
  vi.stubEnv('QUEUE_MAX_RETRY', '7');
  const logger = await runWith(ConfigModule.forRoot({ envFilePath }), QueueModule.forRoot());
  // LOG_DEBUG and QUEUE_NAME of the file.
  expect(logger.of('debug').some((line) => line.includes('completed: hello'))).toBe(true);
  expect((await database.pool.query('select status from shop_queue')).rows).toEqual([{ status: 'sucesso' }]);
  expect(lines.length).toBeGreaterThan(8);
  expect(process.env['QUEUE_MAX_RETRY']).toBe('7');
});

test('variables of other names become options', async () => {
  await writeFile(envFilePath, `SHOP_DATABASE="${database.url}"\nSHOP_CONCURRENCY=3\n`);
  await runWith(
    ConfigModule.forRoot({ isGlobal: true, envFilePath }),
    QueueModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService) => ({
        connection: config.getOrThrow<string>('SHOP_DATABASE'),
        queue: 'other_queue',
        concurrency: Number(config.get('SHOP_CONCURRENCY', '10')),
      }),
    }),
  );
  const { rows } = await database.pool.query('select concurrency from other_queue_worker');
  expect(rows).toEqual([{ concurrency: 3 }]);
});
