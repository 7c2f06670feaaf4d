import 'reflect-metadata';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ConsoleLogger, Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../../lib/index.js';
import { startChildApp } from '../child-app.js';
import { leaveEffect } from '../leave-effect.js';
import { deferred } from '../waiting.js';

/**
 * A worker of the queue `tasks` in `DATABASE_URL`, with the options in `QUEUE_OPTIONS` (JSON). It tells of every
 * `hold` and `block` it starts, of every attempt it recovers and of every one it gives back. `release` ends what is
 * held, `close` closes the application: after that nothing may keep the process alive. SIGTERM is Nest's business.
 * `state` asks for the worker's, `read a file` does so synchronously, and `mark` prints that word to standard error. With `ISOLATED_URL`
 * it runs `write` of `isolated-module.ts` in a thread. With `NEIGHBOUR` the process has a second
 * application, which closes at `close the neighbour`. `raise SIGINT` sends the process that signal from within.
 */
const released = deferred();
const neighbourReleased = deferred();
const isolatedUrl = process.env['ISOLATED_URL'];

const isThere = (path: string | undefined): boolean => path === undefined || existsSync(path);

const tell = (type: string, fields: object = {}): void => void process.send?.({ type, ...fields });

/** What a task of the tests asks for. */
interface Work {
  readonly ms?: number;
  /** Path of a file whose appearance it waits for as well. */
  readonly until?: string;
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
    await released.promise;
  }

  /** Leaves its effect, then runs until it is released. */
  @TaskHandler('leave and hold')
  async leaveAndHold(_: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    tell('left', { task: ctx.task.firstAttemptId });
    await released.promise;
  }

  /** Ends its process in a moment, as running out of memory would. */
  @TaskHandler('kill')
  async kill(): Promise<void> {
    await pause(20);
    process.kill(process.pid, 'SIGKILL');
    await released.promise;
  }

  @DeadTaskHandler('kill')
  async killed(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  /** Blocks the event loop, as code should not. */
  @TaskHandler('block')
  async block({ ms = 0, until }: Work, ctx: TaskContext): Promise<void> {
    tell('started', { task: ctx.task.firstAttemptId, attempt: ctx.task.attempt });
    await pause(50);
    const end = performance.now() + ms;
    while (performance.now() < end || !isThere(until));
    tell('unblocked');
    await leaveEffect(ctx);
  }
}

@Injectable()
class Isolated {
  /** The thread has its own. */
  @TaskHandler('write', { isolate: 'thread' })
  write(): void {}
}

@Module({})
class Neighbour implements OnModuleDestroy {
  onModuleDestroy(): Promise<void> {
    return neighbourReleased.promise;
  }
}

const { app, worker, events } = await startChildApp({
  handlers: isolatedUrl === undefined ? [Handlers] : [Handlers, Isolated],
  logger: new ConsoleLogger({ logLevels: ['error', 'warn'] }),
});
app.enableShutdownHooks();
if (process.env['NEIGHBOUR'] !== undefined) {
  (await NestFactory.createApplicationContext(Neighbour, { logger: false })).enableShutdownHooks();
}
const hear = (signal: NodeJS.Signals): void => tell('heard', { signal });
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, hear);
  // A signal that somebody listens to ends no process.
  events.on('worker.stopped', () => process.off(signal, hear));
}
events.on('task.recovered', ({ task }) => tell('recovered', { task: task.firstAttemptId }));
events.on('task.released', ({ task }) => tell('given back', { task: task.firstAttemptId }));

process.on('message', (message) => {
  if (message === 'release') released.resolve();
  if (message === 'close the neighbour') neighbourReleased.resolve();
  if (message === 'raise SIGINT') process.kill(process.pid, 'SIGINT');
  if (message === 'state') tell('state', { state: worker.state });
  if (message === 'mark') process.stderr.write('mark\n');
  if (message === 'read a file') readFileSync(import.meta.filename);
});
tell('ready', { workerId: worker.id });
