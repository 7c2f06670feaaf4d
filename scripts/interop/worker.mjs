// A worker of this library beside the real nsj-queue-lib: does what scripts/interop/worker.py does.
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const { QueueModule, Subscriber, DeadTaskHandler, TaskHandler } = await import(process.env.TAREFA_LIBRARY);

const values = process.env.DB_DRIVER === 'MYSQL' ? '?, ?' : '$1, $2';
const note = (db, task, kind) =>
  db.query(`insert into interop_effects (task, kind, worker) values (${values}, 'node')`, [task, kind]);

class Handlers {
  async run({ ms = 0, fail = 0 }, { db, task }) {
    await note(db, task.firstAttemptId, 'task');
    await sleep(ms);
    if (task.attempt <= fail) throw new Error('as its payload wants it');
  }

  async bury(_payload, { db, task }) {
    await note(db, task.liveId, 'dead');
  }

  async deliver({ ms = 0 }, { db, task }) {
    await note(db, `${task.publicationId} ${task.subscriptionId}`, 'delivery');
    await sleep(ms);
  }
}
Injectable()(Handlers);
const decorate = (decorator, name) =>
  decorator(Handlers.prototype, name, Object.getOwnPropertyDescriptor(Handlers.prototype, name));
decorate(TaskHandler(), 'run');
decorate(DeadTaskHandler(), 'bury');
for (const id of ['stock', 'mail']) decorate(Subscriber(id), 'deliver');

const queue = QueueModule.forRoot({
  connection: process.env.DATABASE_URL,
  queue: process.env.QUEUE_NAME,
  table: process.env.QUEUE_TABLE,
  interop: process.env.INTEROP === 'off' ? false : 'nsj',
  schema: 'check',
  concurrency: Number(process.env.CONCURRENCY ?? 5),
  maxAttempts: Number(process.env.QUEUE_MAX_RETRY),
  retryIntervalMinutes: 0,
});
const app = await NestFactory.createApplicationContext(
  { module: Handlers, imports: [queue], providers: [Handlers] },
  { logger: ['error', 'warn'], abortOnError: false },
);
app.enableShutdownHooks();
process.stdout.write('ready\n');
