import type { HandlerOptions, QueueModuleOptions } from '../../lib/index.js';

/** What may be around a handler that does nothing. */
const enhancements = [
  '@Payload with a pipe',
  '@Payload with ValidationPipe',
  'guard and interceptor',
  'request scope',
  'schema',
] as const;

export type Enhancement = (typeof enhancements)[number];

/** Options of the library in one setting. */
export interface Setting {
  readonly queue: QueueModuleOptions;
  readonly handler?: HandlerOptions;
  readonly enhancement?: Enhancement;
  /** Each task has a unique key of its own. */
  readonly uniqueKeys?: true;
  /** One handler takes every topic. */
  readonly everyTopic?: true;
  /** Connections of handlers that write by themselves. Default 10, the default of `pg`. */
  readonly writers?: number;
}

/** The best rate found for handlers that do nothing. */
const tuned: QueueModuleOptions = { concurrency: 1_000 };

const enhanced = enhancements.map((enhancement): [string, Setting] => [
  enhancement,
  { queue: tuned, enhancement },
]);

/** By name. The defaults are what a new user gets. */
export const settings: Readonly<Record<string, Setting>> = {
  default: { queue: {} },
  'concurrency 100': { queue: { concurrency: 100 } },
  tuned: { queue: tuned },
  'unique keys': { queue: tuned, uniqueKeys: true },
  'without history': { queue: { ...tuned, history: false } },
  // Not the same names, because they are compared with each other.
  partitioned: { queue: { ...tuned, layout: 'partitioned' } },
  'partitioned concurrency 100': { queue: { concurrency: 100, layout: 'partitioned' } },
  'called directly': { queue: tuned },
  ...Object.fromEntries(enhanced),
  'every topic': { queue: tuned, everyTopic: true },
  'every topic fair': { queue: { ...tuned, order: 'fair' }, everyTopic: true },
  '24 at once': { queue: { concurrency: 24 }, writers: 24 },
  fair: { queue: { ...tuned, order: 'fair' } },
  'one per transaction': { queue: { concurrency: 32, poolSize: 16 } },
  grouped: {
    queue: { concurrency: 200, poolSize: 4 },
    handler: { grouped: true },
  },
  webhooks: { queue: { webhooks: { allowedAddresses: ['127.0.0.1'] } } },
  'webhooks that hang': { queue: { webhooks: { allowedAddresses: ['127.0.0.1'] } } },
  retry: { queue: { concurrency: 100 }, handler: { retryDelayMs: 100 } },
  threads: { queue: {}, handler: { isolate: 'thread' } },
  processes: { queue: {}, handler: { isolate: 'process' } },
  // Deliveries of subscriptions without a handler here are left to other workers.
  'fan-out': { queue: { unknownTasks: 'leave' } },
};
