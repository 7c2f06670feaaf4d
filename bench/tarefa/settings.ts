import type { HandlerOptions, QueueModuleOptions } from '../../lib/index.js';

/** Options of the library in one setting. */
export interface Setting {
  readonly queue: QueueModuleOptions;
  readonly handler?: HandlerOptions;
}

/** The best rate found for handlers that do nothing. */
const tuned: QueueModuleOptions = { concurrency: 1_000 };

/** By name. The defaults are what a new user gets. */
export const settings: Readonly<Record<string, Setting>> = {
  default: { queue: {} },
  'concurrency 100': { queue: { concurrency: 100 } },
  tuned: { queue: tuned },
  fair: { queue: { ...tuned, order: 'fair' } },
  'one per transaction': { queue: { concurrency: 32, poolSize: 16 } },
  grouped: {
    queue: { concurrency: 200, poolSize: 4 },
    handler: { grouped: true },
  },
  retry: { queue: { concurrency: 100 }, handler: { retryDelayMs: 100 } },
  // Deliveries of subscriptions without a handler here are left to other workers.
  'fan-out': { queue: { unknownTasks: 'leave' } },
};
