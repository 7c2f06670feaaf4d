import { expect, test } from 'vitest';
import type { RingRequest } from '../../../lib/coordination/ring.js';
import type { NewTask } from '../../../lib/storage/inserts.js';
import { PostgresInserts } from '../../../lib/storage/postgres/postgres-inserts.js';

const task: NewTask = {
  topic: 'a',
  payload: null,
  payloadHash: null,
  externalKey: null,
  origin: null,
  destination: null,
  tenant: null,
  group: null,
  priority: null,
  dueAt: null,
  delayMs: null,
  publication: false,
  metadata: null,
  unique: null,
};

test('an insert that rings a bell beside the database is one statement, which rings there too', async () => {
  const done: string[] = [];
  const beside: RingRequest[] = [];
  const handle = {
    query: async (text: string) => {
      done.push(text);
      return { rows: [{ id: '5' }] };
    },
  };
  const inserts = new PostgresInserts(handle, {
    channel: 'tasks',
    ringer: { idle: true, ring: () => void done.push('a ring of its own') },
    beside: (ring) => void beside.push(ring),
  }).into({ table: 'tasks' });
  await inserts.insert(task);
  expect(done).toEqual([expect.stringContaining('pg_notify')]);
  expect(beside).toMatchObject([{ highest: 50 }]);
  // Of what its transaction may undo nobody hears.
  await inserts.insert(task, handle);
  expect(beside).toHaveLength(1);
});
