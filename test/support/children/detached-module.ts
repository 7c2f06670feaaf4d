import 'reflect-metadata';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { Injectable, Module } from '@nestjs/common';
import { QueueModule, TaskHandler, type PostgresConnection, type TaskContext } from '../../../lib/index.js';
import { exhaust } from '../exhaust.js';
import { leaveEffect } from '../leave-effect.js';

/**
 * Detached handlers of the queue `tasks` in `DATABASE_URL`, and the module that their processes make an application of, with the
 * options in `QUEUE_OPTIONS` (JSON). What they do they tell the test at the port `DETACHED_PORT`, and hear there how to go on.
 */
async function tell(message: object): Promise<Socket> {
  const socket = connect(Number(process.env['DETACHED_PORT']), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(`${JSON.stringify({ ...message, pid: process.pid })}\n`);
  // The test has ended.
  socket.on('error', () => process.exit(1));
  return socket;
}

const detached = {
  isolate: 'detached',
  concurrency: Number(process.env['DETACHED_CONCURRENCY'] ?? 1),
} as const;

@Injectable()
export class DetachedHandlers {
  /** Goes on until the test says how it is to end, also after it was told to stop. */
  @TaskHandler('long', detached)
  async long(_: unknown, ctx: TaskContext): Promise<object> {
    const { id, firstAttemptId, attempt } = ctx.task;
    process.stdout.write(`task ${firstAttemptId} is at work\n`);
    const socket = await tell({ type: 'started', id, task: firstAttemptId, attempt });
    ctx.signal.addEventListener('abort', () => {
      socket.write(`${JSON.stringify({ type: 'aborted', id, pid: process.pid })}\n`);
    });
    for await (const word of createInterface(socket)) {
      if (word === 'report') ctx.progress(0.5);
      if (word === 'fail') throw new Error('told to fail');
      if (word === 'exit') process.exit(3);
      if (word === 'crash') process.kill(process.pid, 'SIGSEGV');
      if (word === 'exhaust') exhaust();
      if (word === 'succeed') break;
    }
    await leaveEffect(ctx);
    return { pid: process.pid };
  }

  @TaskHandler('block too long', { ...detached, timeoutMs: 1_000, maxAttempts: 1 })
  blockTooLong(payload: unknown, ctx: TaskContext): Promise<void> {
    return this.block(payload, ctx);
  }

  /** Never lets the event loop run again. */
  @TaskHandler('block', detached)
  async block(_: unknown, { task }: TaskContext): Promise<void> {
    await tell({ type: 'started', id: task.id, task: task.firstAttemptId, attempt: task.attempt });
    // The message is on its way.
    await new Promise((resolve) => setTimeout(resolve, 100));
    for (;;);
  }

  @TaskHandler('inline')
  inline(): void {}
}

/** Of a configuration that has a function under that name. */
function connection(functionOf: string | undefined): PostgresConnection {
  const url = process.env['DATABASE_URL'] ?? '';
  if (functionOf === undefined) return url;
  const { hostname: host, port, username: user, password: text, pathname } = new URL(url);
  const password = decodeURIComponent(text);
  const config = { host, port: Number(port), user, database: pathname.slice(1), password };
  return functionOf === 'password'
    ? { ...config, password: () => password }
    : { ...config, stream: () => new Socket() };
}

@Module({ providers: [DetachedHandlers] })
class ProvidingModule {}

@Module({
  imports: [
    ProvidingModule,
    QueueModule.forRootAsync({
      useFactory: () => ({
        connection: connection(process.env['DETACHED_CONNECTION']),
        queue: 'tasks',
        ...(JSON.parse(process.env['QUEUE_OPTIONS'] ?? '{}') as object),
      }),
    }),
  ],
})
export class DetachedModule {}

// The test says when a process goes on that makes its application. Its parent, which loads this as well, goes on at once.
if (process.env['DETACHED_BOOT'] === 'waits' && process.env['TAREFA_CHILD'] === `${process.pid} detached`) {
  const socket = await tell({ type: 'booting' });
  await once(createInterface(socket), 'line');
  socket.destroy();
}
