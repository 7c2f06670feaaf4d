import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { QueueClient, QueueModule, type QueueModuleOptions } from '../../../lib/index.js';

// Boots an application with one queue (`QUEUE_OPTIONS`, JSON), inserts a task when `TOPIC` is set, closes it unless
// `LEAVE_OPEN` is set, says how it went, and then ends only if nothing keeps it.
const options = JSON.parse(process.env['QUEUE_OPTIONS'] ?? '{}') as QueueModuleOptions;

@Module({})
class AppModule {}

async function run(): Promise<Record<string, unknown>> {
  const app = await NestFactory.createApplicationContext(
    { module: AppModule, imports: [QueueModule.forRoot(options)] },
    { logger: false, abortOnError: false },
  );
  const topic = process.env['TOPIC'];
  const id = topic === undefined ? undefined : await app.get(QueueClient).insertTask({ topic });
  if (process.env['LEAVE_OPEN'] !== undefined) return { type: 'open', id };
  await app.close();
  return { type: 'closed', id };
}

const report = await run().catch((error: unknown) => ({
  type: 'failed',
  code: (error as { code?: unknown }).code,
  message: (error as Error).message,
}));
process.send?.(report, () => process.disconnect());
