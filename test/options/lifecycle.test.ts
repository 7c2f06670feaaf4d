import {
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type INestApplicationContext,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { QueueClient, QueueModule, TaskHandler } from '../../lib/index.js';
import { allClosed } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { startApp, withoutRoutines } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';

const database = await useDatabase();
let steps: string[] = [];
let release = deferred();

afterEach(() => allClosed(database));

/** Of a module below the one with the handler. */
@Injectable()
class Deep implements OnApplicationBootstrap, OnModuleDestroy {
  async onApplicationBootstrap(): Promise<void> {
    await pause(100);
    steps.push('deep is ready');
  }

  onModuleDestroy(): void {
    steps.push('deep is torn down');
  }
}

@Injectable()
class Feature implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  constructor(private readonly queue: QueueClient) {}

  async onApplicationBootstrap(): Promise<void> {
    await pause(100);
    steps.push('feature is ready');
  }

  @TaskHandler('slow')
  async slow(): Promise<void> {
    steps.push('task begins');
    await release.promise;
    steps.push('task ends');
  }

  @TaskHandler('other')
  other(): void {
    steps.push('other task');
  }

  async onModuleDestroy(): Promise<void> {
    steps.push('feature is torn down');
    await this.queue.insertTask({ topic: 'other' });
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.queue.insertTask({ topic: 'other' });
  }
}

@Module({ providers: [Deep] })
class DeepModule {}

@Module({ imports: [DeepModule], providers: [Feature] })
class FeatureModule {}

@Module({})
class AppModule {}

const queueModule = (): DynamicModule =>
  QueueModule.forRoot({ connection: database.url, queue: 'tasks', ...withoutRoutines });

function boot(imports: DynamicModule['imports'], warnings: string[] = []): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(
    { module: AppModule, imports: imports ?? [] },
    {
      logger: { log: () => {}, error: () => {}, warn: (line: unknown) => void warnings.push(String(line)) },
      abortOnError: false,
    },
  );
}

test('tasks begin when every module has booted, and have ended before any of them is torn down', async () => {
  const producer = await startApp(database, { worker: false });
  await producer.queue.insertTask({ topic: 'slow' });
  await producer.close();
  steps = [];
  release = deferred();
  const warnings: string[] = [];

  const app = await boot([FeatureModule, queueModule()], warnings);
  await until(async () => steps.includes('task begins'), 'the first task');
  expect(steps).toEqual(['deep is ready', 'feature is ready', 'task begins']);
  steps = [];
  const closing = app.close();
  await pause(100);
  release.resolve();
  await closing;

  expect(steps).toEqual(['task ends', 'feature is torn down', 'deep is torn down']);
  expect(warnings).toEqual([]);
  // What was inserted while the others were torn down is there for the next process.
  const { rows } = await database.pool.query(`select status from tasks where processo = 'other'`);
  expect(rows).toEqual([{ status: 'pendente' }, { status: 'pendente' }]);
});

test('a module with handlers that boots after the queue is warned of', async () => {
  release.resolve();
  const warnings: string[] = [];
  const app = await boot([queueModule(), FeatureModule], warnings);
  await app.close();
  // What its module inserts while it is torn down may be claimed by a statement that was under way.
  expect(warnings.filter((line) => !line.includes('was returned to the queue'))).toEqual([
    expect.stringMatching(/^FeatureModule holds handlers and boots after the queue.*Import QueueModule last/),
  ]);
});
