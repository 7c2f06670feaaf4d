// The application of the recorded tour: does what is due, and ends. With MAIL=down its receipts fail.
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { QueueModule, QueueAdmin, Subscriber, TaskHandler } = await import(process.env.TAREFA_LIBRARY);

class Handlers {
  sendReceipt({ order }) {
    if (process.env.MAIL === 'down' && order === 17) throw new Error('the mail server is busy');
    return `receipt of order ${order} sent`;
  }

  index({ id }) {
    return `order ${id} is indexed`;
  }
}
Injectable()(Handlers);
const decorate = (decorator, name) =>
  decorator(Handlers.prototype, name, Object.getOwnPropertyDescriptor(Handlers.prototype, name));
decorate(TaskHandler('send-receipt', { maxAttempts: 2, retryDelayMs: 0 }), 'sendReceipt');
decorate(Subscriber('search-index'), 'index');

const queue = QueueModule.forRoot({
  connection: process.env.DATABASE_URL,
  unknownTasks: 'leave',
  concurrency: 1,
});
const app = await NestFactory.createApplicationContext(
  { module: Handlers, imports: [queue], providers: [Handlers] },
  { logger: false, abortOnError: false },
);
const admin = app.get(QueueAdmin);
for (let quiet = 0; quiet < 3; quiet += 1) {
  await sleep(100);
  const counts = await admin.counts();
  if (counts.some(({ status }) => status === 'pending' || status === 'processing')) quiet = -1;
}
await app.close();
