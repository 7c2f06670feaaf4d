import type { Bell } from '../../../lib/coordination/bell.js';
import type { Liveness } from '../../../lib/coordination/liveness.js';
import type { WorkerId } from '../../../lib/storage/attempt.js';
import type { WorkerRegistry } from '../../../lib/storage/workers.js';

/** Two bells of one queue, in processes of their own where there are such, and one of another queue beside it. */
export interface OpenedBells {
  readonly one: Bell;
  readonly other: Bell;
  readonly stranger: Bell;
}

export type OpenBells = () => Promise<OpenedBells>;

/** What shows the lives of two workers of one queue. */
export interface OpenedLiveness {
  readonly one: Liveness;
  readonly other: Liveness;
  readonly workers: WorkerRegistry;
}

export type OpenLiveness = () => Promise<OpenedLiveness>;

/** A worker that has only been written down. */
export function register(workers: WorkerRegistry): Promise<WorkerId> {
  return workers.register({
    host: 'host',
    pid: 1,
    version: '0',
    concurrency: 1,
    routes: [],
    deadRoutes: [],
  });
}
