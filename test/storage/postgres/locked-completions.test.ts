import { expect, test } from 'vitest';
import type { ClaimDemand, Claims } from '../../../lib/storage/claims.js';
import { useStorage } from '../../support/queue-storage.js';
import { until } from '../../support/waiting.js';
import { statusesIn } from '../../support/statuses.js';
import { withClient } from '../../support/with-client.js';

const bench = useStorage();
const one: ClaimDemand = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' };

const openClaims = (): Claims =>
  bench.database.claimsOf(bench.workerId, { concurrency: 10, warn: () => undefined });

async function insert(count: number): Promise<void> {
  await bench.pool.query(`insert into tasks (processo) select 'a' from generate_series(1, $1::int)`, [count]);
}

async function claimMany(claims: Claims, count: number) {
  const demand = { ...one, routes: [{ route: 't:a', limit: count }], total: count };
  const { claimed } = await claims.settleAndClaim([], demand);
  return claimed.map(({ id, reservation }) => ({ id, reservation, message: 'done', result: null }));
}

/** Waits until a claim waits for a lock. */
async function isWaiting(): Promise<void> {
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '-- name: settle_and_claim%'
    and datname = current_database()`;
  await until(async () => (await bench.pool.query(waiting)).rowCount === 1, 'the claim waits');
}

test('a row that another session has locked holds up neither the other outcomes nor the claim', async () => {
  const claims = openClaims();
  await insert(5);
  const [locked, ...others] = await claimMany(claims, 3);
  if (!locked) throw new Error('nothing was claimed');
  await withClient(bench, async (user) => {
    await user.query('begin');
    await user.query('select from tasks where id = $1 for update', [locked.id]);
    const first = await claims.settleAndClaim([locked, ...others], one);
    expect(first.settledOnly?.toSorted()).toEqual(others.map(({ id }) => id).toSorted());
    expect(first.claimed).toHaveLength(1);
    // As long as it is locked.
    expect(await claims.settleAndClaim([locked], one)).toMatchObject({ settledOnly: [], claimed: [{}] });
    expect(await statusesIn(bench.pool)).toEqual([
      'processando',
      'sucesso',
      'sucesso',
      'processando',
      'processando',
    ]);
    await user.query('rollback');
  });
  expect(await claims.settleAndClaim([locked], one)).toMatchObject({ settledOnly: undefined });
  expect((await statusesIn(bench.pool))[0]).toBe('sucesso');
});

test.each([0, 1])(
  'a claim beside %s outcomes waits as long as a trigger of the user wants',
  async (outcomes) => {
    const claims = openClaims();
    await bench.pool.query(`
drop trigger if exists wait_for_turn on tasks;
create or replace function wait_for_turn() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(77);
  return new;
end $$;
create trigger wait_for_turn before update on tasks for each row when (new.status = 'processando')
  execute function wait_for_turn()`);
    await insert(2);
    const ended = await claimMany(claims, 1);
    await withClient(bench, async (user) => {
      await user.query('begin');
      await user.query('select pg_advisory_xact_lock(77)');
      const claiming = claims.settleAndClaim(ended.slice(0, outcomes), one);
      claiming.catch(() => undefined);
      if (outcomes > 0)
        await until(async () => (await statusesIn(bench.pool))[0] === 'sucesso', 'the outcome is written');
      await isWaiting();
      // Longer than what is waited for where rows are settled.
      await user.query('select pg_sleep(0.05)');
      await user.query('rollback');
      expect((await claiming).claimed).toHaveLength(1);
    });
  },
);
