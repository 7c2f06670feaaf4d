import 'reflect-metadata';
import { Logger, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  QueueAdmin,
  QueueClient,
  QueueEvents,
  QueueModule,
  QueueWorker,
  type QueueModuleOptions,
} from '../../lib/index.js';

@Module({})
class HandlersModule {}

@Module({})
class BenchModule {}

/** The queue's table. */
export const table = 'bench.task';

/** A Nest application with the queue in it. */
export interface BenchQueue {
  readonly client: QueueClient;
  readonly worker: QueueWorker;
  readonly admin: QueueAdmin;
  readonly events: QueueEvents;
  close(): Promise<void>;
}

/** What an application imports that has the queue and these handlers. */
export function queueModules(
  url: string,
  handlers: readonly Provider[],
  options: QueueModuleOptions,
): DynamicModule[] {
  return [
    { module: HandlersModule, providers: [...handlers], exports: [...handlers] },
    QueueModule.forRoot({ connection: url, queue: 'bench', table, autoStart: false, ...options }),
  ];
}

/** Opens the queue, and makes its tables when they are missing. Its worker does not start by itself. */
export async function openQueue(
  url: string,
  handlers: readonly Provider[],
  options: QueueModuleOptions,
): Promise<BenchQueue> {
  // The peers do not log failed attempts here either.
  Logger.overrideLogger(['error']);
  const module: DynamicModule = { module: BenchModule, imports: queueModules(url, handlers, options) };
  const app = await NestFactory.createApplicationContext(module, { abortOnError: false });
  return {
    client: app.get(QueueClient),
    worker: app.get(QueueWorker, { strict: false }),
    admin: app.get(QueueAdmin, { strict: false }),
    events: app.get(QueueEvents, { strict: false }),
    close: () => app.close(),
  };
}
