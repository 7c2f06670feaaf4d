import type { QueueModuleOptions } from '../../lib/index.js';
import type { TestDatabase } from './database.js';
import { forkChild, type Child, type ForkOptions } from './processes.js';

/** Starts `test/support/children/worker.ts` on the queue `tasks` of that database; it is at work once it says `ready`. */
export function forkWorker(
  database: Pick<TestDatabase, 'url'>,
  options: QueueModuleOptions = {},
  env: ForkOptions['env'] = {},
): Child {
  return forkChild('worker', {
    env: { DATABASE_URL: database.url, QUEUE_OPTIONS: JSON.stringify(options), ...env },
  });
}

/** The table that the handlers of `test/support/children/worker.ts` write to: one row per effect, nothing unique. */
export async function createEffectTable({ pool }: Pick<TestDatabase, 'pool'>): Promise<void> {
  await pool.query('create table effect (task_root bigint not null, attempt integer not null)');
}
