import * as fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { assembleCore } from '../../../lib/assembly/core.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../../lib/events.js';
import { useDatabase } from '../../support/database.js';
import { register } from '../conformance/opened.js';
import { levels, Replacing, steps, type Step } from './replacing.js';

const database = await useDatabase();
const core = await assembleCore(
  resolveOptions({ connection: database.url, queue: 'tasks' }, {}),
  new QueueEvents(),
);
afterAll(() => core.close());

test('whatever a transaction has seen, it replaces what waits now, or is refused and has done nothing', async () => {
  const worker = await register(core.database);
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...steps), { minLength: 4, maxLength: 16 }),
      fc.constantFrom(...levels),
      async (taken, level) => {
        run += 1;
        const client = await database.pool.connect();
        const replacing = new Replacing(core, database.pool, client, worker, `run-${run}`);
        try {
          const all: readonly Step[] = [`begin ${level}`, ...taken];
          for (const [index, step] of all.entries()) await replacing.take(step, String(index));
          await replacing.end('commit');
        } finally {
          await client.query('rollback');
          client.release();
        }
      },
    ),
    { numRuns: 150 },
  );
  expect(run).toBe(150);
});
