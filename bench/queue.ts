import { Logger, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Pool } from 'pg';
import { QueueClient, QueueModule, QueueWorker, type QueueModuleOptions } from '../lib/index.js';

@Module({})
class HandlersModule {}

@Module({})
class BenchModule {}

/** A queue of its own schema on the benchmark's server, empty at the start. */
export interface BenchQueue {
  readonly client: QueueClient;
  readonly worker: QueueWorker;
  readonly pool: Pool;
  close(): Promise<void>;
}

/** Makes a fresh queue. Its worker does not start before `worker.start()`. */
export async function openQueue(
  url: string,
  handlers: readonly Provider[],
  options: QueueModuleOptions = {},
): Promise<BenchQueue> {
  Logger.overrideLogger(['error', 'warn']);
  const pool = new Pool({ connectionString: url, max: 20 });
  await pool.query('drop schema if exists bench cascade');
  const module: DynamicModule = {
    module: BenchModule,
    imports: [
      { module: HandlersModule, providers: [...handlers], exports: [...handlers] },
      QueueModule.forRoot({
        connection: url,
        queue: 'bench',
        table: 'bench.task',
        autoStart: false,
        ...options,
      }),
    ],
  };
  const app = await NestFactory.createApplicationContext(module, { abortOnError: false });
  return {
    client: app.get(QueueClient),
    worker: app.get(QueueWorker, { strict: false }),
    pool,
    close: async () => {
      await app.close();
      await pool.end();
    },
  };
}

/** Inserts `count` small tasks of the topics `t0`, `t1`, … in batches. */
export async function fill(queue: BenchQueue, count: number, topics = 1): Promise<void> {
  for (let first = 0; first < count; first += 5_000) {
    const tasks = Array.from({ length: Math.min(5_000, count - first) }, (_, offset) => ({
      topic: `t${(first + offset) % topics}`,
      payload: { i: first + offset, s: 'x'.repeat(40) },
    }));
    await queue.client.insertTasks(tasks);
  }
  await queue.pool.query('vacuum analyze bench.task');
  await queue.pool.query('checkpoint');
}
