import type { Scenario } from '../scenario.js';
import { enqueueBatches, enqueueColumns, enqueueSingly } from './enqueue.js';
import { drain, drainColumns } from './working.js';

const payloadBytes = 65_536;
const producers = [
  'tarefa',
  'graphile-worker',
  'pg-boss',
  'bullmq on redis',
  'bullmq on postgres',
  'bare',
] as const;

/** Payloads that are stored apart from their rows, and that fill memory. */
export const longPayloads: readonly Scenario[] = [
  {
    name: '64 KiB payloads: drain',
    about:
      'A backlog of 20,000 tasks of 64 KiB each, which cannot be compressed, and whose handler does nothing. None fetches ' +
      'more than 1,000 at once: what is fetched before the first handler starts is not in the rate. A run is cut after 60 s.',
    peers: [
      'tarefa',
      'tarefa, tuned',
      'graphile-worker, preset',
      'pg-boss, batches of 1000',
      'bullmq on redis, tuned',
      'bullmq on postgres, tuned',
      'bare',
    ],
    columns: [...drainColumns, 'walBytesPerTask'],
    payloadBytes,
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 20_000 : 4_000, limitSeconds: 60 }),
  },
  {
    name: '64 KiB payloads: enqueue, 16 connections',
    about: 'Tasks of 64 KiB, one at a time over 16 connections; no worker runs.',
    peers: producers,
    columns: enqueueColumns,
    payloadBytes,
    run: (stage, size) => enqueueSingly(stage, { connections: 16, size, within: false }),
  },
  {
    name: '64 KiB payloads: enqueue, batches of 100',
    about: 'Tasks of 64 KiB in batches of 100, one after another on one connection.',
    peers: producers,
    columns: enqueueColumns,
    payloadBytes,
    run: (stage, size) => enqueueBatches(stage, 100, size === 'full' ? 10_000 : 2_000),
  },
];
