import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type LoggerService } from '@nestjs/common';
import { TaskHandler, type TaskContext } from '../../../lib/index.js';
import { startChildApp } from '../child-app.js';
import { leaveEffect } from '../leave-effect.js';
import { deferred } from '../waiting.js';

/**
 * A worker of the queue `tasks` for the tests of faults, with the options in `QUEUE_OPTIONS` (JSON). It tells every
 * line that the library logs (`log`), what it claims, loses, gives back and recovers, and which time it believes it
 * is. `release` ends what is held, `close` closes the application; after that nothing may keep the process alive.
 */
const released = deferred();

// Whoever started this process may be gone.
const tell = (type: string, fields: object = {}): void => {
  if (process.connected) process.send?.({ type, ...fields });
};

interface Work {
  readonly ms?: number;
}

@Injectable()
class Handlers {
  /** Leaves one effect and takes a while. */
  @TaskHandler('effect', { retryDelayMs: 50 })
  async effect({ ms = 0 }: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    if (ms > 0) await pause(ms);
  }

  /** Touches no database: completed in a batch. */
  @TaskHandler('batch', { retryDelayMs: 50 })
  async batch({ ms = 0 }: Work): Promise<void> {
    if (ms > 0) await pause(ms);
  }

  @TaskHandler('fail once', { retryDelayMs: 1_000 })
  failOnce(_: Work, { task }: TaskContext): void {
    if (task.attempt === 1) throw new Error('as expected');
  }

  @TaskHandler('effect and hold')
  async effectAndHold(_: Work, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    await this.#hold(ctx);
  }

  @TaskHandler('hold and effect')
  async holdAndEffect(_: Work, ctx: TaskContext): Promise<void> {
    await this.#hold(ctx);
    await leaveEffect(ctx);
  }

  @TaskHandler('hold')
  async hold(_: Work, ctx: TaskContext): Promise<void> {
    await this.#hold(ctx);
  }

  async #hold({ task }: TaskContext): Promise<void> {
    tell('started', { task: task.firstAttemptId, attempt: task.attempt });
    await released.promise;
  }
}

/** Nest hands the context over last. */
const line =
  (level: string) =>
  (message: unknown, ...rest: unknown[]): void => {
    if (String(rest.at(-1)).startsWith('Tarefa')) tell('log', { level, text: String(message) });
  };
const logger: LoggerService = {
  log: line('log'),
  warn: line('warn'),
  error: line('error'),
  debug: () => undefined,
};

const { worker, events } = await startChildApp({ handlers: [Handlers], logger });
events.on('task.recovered', ({ task }) => tell('recovered', { task: task.firstAttemptId }));
events.on('task.lost', ({ task }) => tell('lost', { task: task.firstAttemptId }));
events.on('task.released', ({ task }) => tell('released', { task: task.firstAttemptId }));
events.on('connection.lost', ({ connection }) => tell('connection lost', { connection }));
events.on('connection.restored', ({ connection }) => tell('connection restored', { connection }));

process.on('message', (message) => {
  if (message === 'release') released.resolve();
  if (message === 'time') tell('time', { now: Date.now() });
});
tell('ready', { workerId: worker.id, pid: process.pid });
