import type { QueueModuleOptions } from '../../../lib/index.js';
import { forkChild, type Child, type ForkOptions } from '../../support/processes.js';

/** Starts `test/support/children/fault-worker.ts` on the queue `tasks` of that database, and waits until it is at work. */
export async function startFaultWorker(
  { url }: { readonly url: string },
  options: QueueModuleOptions,
  { env, ...fork }: ForkOptions = {},
): Promise<Child> {
  const worker = forkChild('fault-worker', {
    env: { DATABASE_URL: url, QUEUE_OPTIONS: JSON.stringify(options), ...env },
    ...fork,
  });
  await worker.message('ready');
  return worker;
}
