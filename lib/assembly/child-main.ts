import { parentPort, Worker } from 'node:worker_threads';
import { Logger } from '@nestjs/common';
import { markAsIsolatedChild } from '../options/isolation-options.js';
import { serializeError } from '../worker/children/serialized-error.js';
import type { ChildOrder, ChildReport } from '../worker/children/messages.js';
import { ChildApplication } from './child-application.js';

// What a thread or process of isolated handlers runs: it makes the application, and does what its parent says.
markAsIsolatedChild();
let application: ChildApplication | undefined;

function tell(report: ChildReport): void {
  if (parentPort) parentPort.postMessage(report);
  else process.send?.(report);
}

async function boot(module: string, queue: string): Promise<void> {
  try {
    application = await ChildApplication.boot(module, queue, tell);
    tell(application.ready);
  } catch (error) {
    tell({ type: 'refused', error: serializeError(error) });
  }
}

async function obey(order: ChildOrder): Promise<void> {
  switch (order.type) {
    case 'boot':
      return boot(order.module, order.queue);
    case 'run':
      if (application) tell({ type: 'ended', end: await application.runner.run(order) });
      return;
    case 'abort':
      return application?.runner.abort(order.reason);
    case 'close':
      // What the application leaves open ends with its thread or process.
      await application?.close().catch((error: unknown) => Logger.error(error, 'Tarefa'));
      process.exit();
  }
}

if (parentPort) parentPort.on('message', (order: ChildOrder) => void obey(order));
else {
  // A terminal sends its signals to all processes of a group; when this one is to end its parent says.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // The parent is gone. A handler may keep the event loop from seeing it.
  process.once('disconnect', () => process.exit(1));
  const watch = new URL('./parent-watch.js', import.meta.url);
  // Without what the options and the environment of this process load into it.
  new Worker(watch, { workerData: process.ppid, execArgv: [], env: {} }).unref();
  process.on('message', (order) => void obey(order as ChildOrder));
}
