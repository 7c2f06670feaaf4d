import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DeadTaskHandler,
  QueueEvents,
  QueueModule,
  QueueWorker,
  TaskHandler,
  type QueueModuleOptions,
  type TaskContext,
} from '../../lib/index.js';

/**
 * A worker of the queue `tasks` in `DATABASE_URL`, with the options in `QUEUE_OPTIONS` (JSON). It tells of every
 * `hold` and `block` it starts and of every attempt it recovers. `release` ends what is held, `close` closes the
 * application: after that nothing may keep the process alive. SIGTERM is Nest's business. `state` asks for the
 * worker's, and `read a file` does so synchronously.
 */
let release: () => void;
const released = new Promise<void>((resolve) => (release = resolve));
let closing = false;

const tell = (type: string, fields: object = {}): void => void process.send?.({ type, ...fields });

/** What a task of the tests asks for. */
interface Work {
  readonly ms?: number;
}

@Injectable()
class Handlers {
  /** Takes a while and leaves one effect. */
  @TaskHandler('effect')
  async effect({ ms = 0 }: Work, ctx: TaskContext): Promise<void> {
    if (ms > 0) await pause(ms);
    await leaveEffect(ctx);
  }

  /** Writes, and does not end before it is released. */
  @TaskHandler('hold')
  async hold(_: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    tell('started', { task: ctx.task.firstAttemptId, attempt: ctx.task.attempt });
    await released;
  }

  /** Leaves its effect, then runs until it is released. */
  @TaskHandler('leave and hold')
  async leaveAndHold(_: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    tell('left', { task: ctx.task.firstAttemptId });
    await released;
  }

  /** Ends its process in a moment, as running out of memory would. */
  @TaskHandler('kill')
  async kill(): Promise<void> {
    await pause(20);
    process.kill(process.pid, 'SIGKILL');
    await released;
  }

  @DeadTaskHandler('kill')
  async killed(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  /** Blocks the event loop, as code should not. */
  @TaskHandler('block')
  async block({ ms = 0 }: Work, ctx: TaskContext): Promise<void> {
    tell('started', { task: ctx.task.firstAttemptId, attempt: ctx.task.attempt });
    await pause(50);
    const end = performance.now() + ms;
    while (performance.now() < end);
    tell('unblocked');
    await leaveEffect(ctx);
  }
}

async function leaveEffect({ db, task }: TaskContext): Promise<void> {
  await db.query('insert into effect (task_root, attempt) values ($1, $2)', [
    task.firstAttemptId,
    task.attempt,
  ]);
}

@Module({ providers: [Handlers] })
class HandlersModule {}

const options = JSON.parse(process.env['QUEUE_OPTIONS'] ?? '{}') as QueueModuleOptions;

@Module({
  imports: [
    HandlersModule,
    QueueModule.forRoot({ connection: process.env['DATABASE_URL'], queue: 'tasks', ...options }),
  ],
})
class WorkerApp {}

const app = await NestFactory.createApplicationContext(WorkerApp, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
app.get(QueueEvents).on('task.recovered', ({ task }) => tell('recovered', { task: task.firstAttemptId }));

process.on('message', (message) => {
  if (message === 'release') release();
  if (message === 'state') tell('state', { state: app.get(QueueWorker, { strict: false }).state });
  if (message === 'read a file') readFileSync(import.meta.filename);
  if (message === 'close') {
    closing = true;
    void app.close().then(() => process.disconnect());
  }
});
// Whoever started this process is gone.
process.once('disconnect', () => {
  if (!closing) process.exit(1);
});
tell('ready', { workerId: app.get(QueueWorker, { strict: false }).id });
