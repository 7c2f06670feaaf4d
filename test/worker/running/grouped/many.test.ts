import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../../../lib/index.js';
import { seededRandom } from '../../../faults/chaos/prng.js';
import { useFaults } from '../../../faults/kit/fault-bench.js';
import { allOnce, drained } from '../../../faults/kit/outcome.js';
import { leaveEffect } from '../../../support/leave-effect.js';

const bench = useFaults();
const tasks = 300;

/** How many wait until their time is over: it is so long that a busy machine ends no other attempt by it again and again. */
let sleepers = 2;

/** What can go wrong behind an effect; every one of them fails its attempt and undoes what it did. */
const mishaps: readonly ((ctx: TaskContext) => Promise<unknown>)[] = [
  () => Promise.reject(new Error('thrown')),
  ({ db }) => db.query('select * from nowhere'),
  ({ db }) => db.query('select * from nowhere').catch(() => undefined),
  ({ db }) => db.query('rollback'),
  async ({ db }) => {
    if (sleepers-- <= 0) throw new Error('thrown');
    await db.query('select pg_sleep(600)');
  },
  ({ db }) => db.query('select pg_terminate_backend(pg_backend_pid())'),
  async (ctx) => void (await ctx.client()).query('select 1 / 0').catch(() => undefined),
];

test('whatever tasks do, every one succeeds in the end with its effect once', async () => {
  const random = seededRandom(4);
  class Handlers {
    @TaskHandler('effect', { grouped: true, retryDelayMs: 0, timeoutMs: 2_000 })
    async effect(_: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
      if (random.chance(0.05)) await random.pick(mishaps)(ctx);
    }
  }
  await bench.start({ handlers: [Handlers], concurrency: 100 });
  await bench.pool.query(
    `insert into tasks (processo, payload) select 'effect', '{}' from generate_series(1, $1::int)`,
    [tasks],
  );
  expect(await drained(bench.pool, 50_000)).toEqual(allOnce(tasks));
}, 60_000);
