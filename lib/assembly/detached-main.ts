import { Logger } from '@nestjs/common';
import { markAsIsolatedChild } from '../options/isolation-options.js';
import type { DetachedWorker } from '../worker/children/detached-worker.js';
import type { DetachedOrder, DetachedReport } from '../worker/children/messages.js';
import { serializeError } from '../worker/children/serialized-error.js';
import { ChildApplication } from './child-application.js';

// What the process of a detached handler runs: it makes the application, takes its attempt over from its parent, and runs it.
markAsIsolatedChild('detached');
let worker: DetachedWorker | undefined;

function tell(report: DetachedReport): Promise<void> {
  return new Promise((resolve, reject) => {
    if (!process.send) return reject(new Error('the parent process is gone'));
    process.send(report, undefined, {}, (error) => (error ? reject(error) : resolve()));
  });
}

function giveUp(): never {
  Logger.error('the handler was told to stop but is still running: exiting its process', 'Tarefa');
  process.exit(1);
}

async function run(order: DetachedOrder): Promise<never> {
  try {
    const application = await ChildApplication.boot(order.module, order.queue, () => undefined);
    worker = application.detachedWorker(order, { tell, giveUp });
    await worker.run(order);
    await application.close().catch((error: unknown) => Logger.error(error, 'Tarefa'));
    process.exit();
  } catch (error) {
    Logger.error(error, 'Tarefa');
    await tell({ type: 'refused', error: serializeError(error) }).catch(() => undefined);
    process.exit(1);
  }
}

process.once('message', (order) => void run(order as DetachedOrder));
// The parent is gone: its attempt is recovered by others, unless it may be here already.
process.once('disconnect', () => {
  if (worker?.isTakingOver !== true) process.exit(1);
});
