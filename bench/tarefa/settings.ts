import type { HandlerOptions, QueueModuleOptions } from '../../lib/index.js';
import { enhancedHandlers, type Enhancement } from './enhanced-handlers.js';

/** Options of the library in one setting. */
export interface Setting {
  readonly queue: QueueModuleOptions;
  readonly handler?: HandlerOptions;
  /** What is around a handler that does nothing. */
  readonly enhancement?: Enhancement;
}

/** The best rate found for handlers that do nothing. */
const tuned: QueueModuleOptions = { concurrency: 1_000 };

const enhanced = (Object.keys(enhancedHandlers) as Enhancement[]).map((enhancement): [string, Setting] => [
  enhancement,
  { queue: tuned, enhancement },
]);

/** By name. The defaults are what a new user gets. */
export const settings: Readonly<Record<string, Setting>> = {
  default: { queue: {} },
  'concurrency 100': { queue: { concurrency: 100 } },
  tuned: { queue: tuned },
  'without history': { queue: { ...tuned, history: false } },
  // Not the same names, because they are compared with each other.
  partitioned: { queue: { ...tuned, layout: 'partitioned' } },
  'partitioned concurrency 100': { queue: { concurrency: 100, layout: 'partitioned' } },
  'called directly': { queue: tuned },
  ...Object.fromEntries(enhanced),
  fair: { queue: { ...tuned, order: 'fair' } },
  'one per transaction': { queue: { concurrency: 32, poolSize: 16 } },
  grouped: {
    queue: { concurrency: 200, poolSize: 4 },
    handler: { grouped: true },
  },
  webhooks: { queue: { webhooks: { allowedAddresses: ['127.0.0.1'] } } },
  'webhooks that hang': { queue: { webhooks: { allowedAddresses: ['127.0.0.1'] } } },
  retry: { queue: { concurrency: 100 }, handler: { retryDelayMs: 100 } },
  // Deliveries of subscriptions without a handler here are left to other workers.
  'fan-out': { queue: { unknownTasks: 'leave' } },
};
