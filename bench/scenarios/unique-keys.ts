import type { Scenario } from '../scenario.js';
import { enqueueColumns, enqueueSingly } from './enqueue.js';
import { oursOnly } from './ours-only.js';
import { drain, drainColumns } from './working.js';

const skips = oursOnly('what a key costs is compared within this library');

/** What unique keys cost where they are used; where they are not, they cost what their empty index does. */
export const uniqueKeys: readonly Scenario[] = [
  {
    name: 'unique keys: one at a time, 16 connections',
    about:
      'One insert at a time on each of 16 connections: without a key, and with one of its own for each task (`unique`), so ' +
      'that no key is taken.',
    peers: ['tarefa, tuned', 'tarefa, unique keys'],
    skips,
    columns: enqueueColumns,
    run: (stage, size) => enqueueSingly(stage, { connections: 16, size, within: false }),
  },
  {
    name: 'unique keys: drain',
    about:
      'A backlog of 100,000 tasks whose handler does nothing: without keys, and with one of its own for each.',
    peers: ['tarefa, tuned', 'tarefa, unique keys'],
    skips,
    columns: [...drainColumns, 'walBytesPerTask'],
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 100_000 : 30_000, limitSeconds: 15 }),
  },
];
