import { ConsoleLogger } from '@nestjs/common';
import { startChildApp } from '../child-app.js';
import { DetachedHandlers } from './detached-module.js';

/**
 * A worker of the queue `tasks` with detached handlers, started as `worker.ts` is. It tells what it claims and of every task that
 * it has handed over. With `DIES_AT_CLAIM` it kills itself when it claims.
 */
const { worker, events } = await startChildApp({
  handlers: [DetachedHandlers],
  logger: new ConsoleLogger({ logLevels: ['error', 'warn'] }),
});
const tell = (type: string, fields: object = {}): void => void process.send?.({ type, ...fields });
events.on('task.claimed', ({ task }) => {
  if (process.env['DIES_AT_CLAIM'] !== undefined) process.kill(process.pid, 'SIGKILL');
  tell('claimed', { task: task.firstAttemptId });
});
events.on('notice', ({ message }) => {
  if (message.includes('runs detached')) tell('handed over', { message });
});
tell('ready', { workerId: worker.id });
