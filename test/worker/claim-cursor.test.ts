import { beforeEach, expect, test } from 'vitest';
import type { ClaimedTask, RouteDemand } from '../../lib/storage/attempt.js';
import { ClaimCursor, isBounded } from '../../lib/worker/claiming/claim-cursor.js';
import { ClaimPlanner } from '../../lib/worker/claiming/claim-planner.js';
import { withClient } from '../support/with-client.js';
import { useStorage } from '../property/queue-storage.js';

// A queue whose front is dear: a claim from there takes a second, any other a millisecond. So after the first claim
// the next ones start where it ended, until time has passed for a sweep.

const bench = useStorage();
let clock = 0;
let planner: ClaimPlanner;

beforeEach(() => {
  clock = 0;
  planner = new ClaimPlanner('age', new ClaimCursor(() => clock));
});

/** Claims up to so many; answers the external keys. */
async function claim(total: number, routes: readonly RouteDemand[] = [{ route: 't:a', limit: total }]) {
  const request = planner.plan({ routes, total });
  const result = await bench.database.claims.settleAndClaim(bench.workerId, [], request);
  const bounded = isBounded(request);
  planner.learn(request, result, bounded ? 1 : 1_000);
  return { bounded, keys: result.claimed.map(({ task }) => task.externalKey), claimed: result.claimed };
}

async function keysClaimed(total = 10): Promise<(string | null)[]> {
  return (await claim(total)).keys;
}

/** Inserts a task that was due so many seconds ago. */
async function insert(key: string, secondsAgo: number, priority = 50, topic = 'a'): Promise<void> {
  await bench.pool.query(
    `insert into tasks (processo, chave_externa, prioridade, data_hora, data_hora_inicial)
     select $1, $2, $3, due, due from (select clock_timestamp() - $4::float8 * interval '1 second' as due) d`,
    [topic, key, priority, secondsAgo],
  );
}

/** Time for a sweep has passed. */
function passTime(): void {
  clock += 60_000;
}

test('after a dear claim from the front the next one starts where it ended, and goes on in order', async () => {
  for (const [index, key] of ['1', '2', '3', '4'].entries()) await insert(key, 40 - index);
  expect(await claim(2)).toMatchObject({ bounded: false, keys: ['1', '2'] });
  expect(await claim(1)).toMatchObject({ bounded: true, keys: ['3'] });
  expect(await claim(5)).toMatchObject({ bounded: true, keys: ['4'] });
});

test('a commit that took long is behind the cursor: a sweep finds it', async () => {
  await withClient(bench, async (slow) => {
    await slow.query('begin');
    await slow.query(
      `insert into tasks (processo, chave_externa, data_hora) values ('a', 'late', now() - interval '1 minute')`,
    );
    await insert('quick', 30);
    expect(await keysClaimed(1)).toEqual(['quick']);
    await slow.query('commit');
  });
  expect(await keysClaimed()).toEqual([]);
  passTime();
  expect(await claim(10)).toMatchObject({ bounded: false, keys: ['late'] });
});

test('a ring moves the cursor back to what it names', async () => {
  await insert('first', 10);
  await keysClaimed();
  await insert('behind', 40);
  expect(await keysClaimed()).toEqual([]);
  planner.cursor.moveBack(Date.now() - 20_000, 50);
  expect(await keysClaimed()).toEqual([]);
  planner.cursor.moveBack(Date.now() - 60_000, 49);
  expect(await keysClaimed()).toEqual([]);
  planner.cursor.moveBack(Date.now() - 60_000, 50);
  expect(await claim(10)).toMatchObject({ bounded: true, keys: ['behind'] });
});

test('priorities that appear are never behind the cursor, whatever they are', async () => {
  await insert('50', 10);
  await insert('20', 10, 20);
  expect(await keysClaimed()).toEqual(['50', '20']);
  for (const priority of [100, 51, 49, 35, 21, 19, -5]) await insert(String(priority), 3_600, priority);
  expect(await claim(20)).toMatchObject({
    bounded: true,
    keys: ['100', '51', '49', '35', '21', '19', '-5'],
  });
});

test('more priorities than are remembered are claimed all the same', async () => {
  for (let round = 0; round < 3; round += 1) {
    for (let priority = 1; priority <= 12; priority += 1) await insert(`${round} ${priority}`, 0, priority);
    const expected = Array.from({ length: 12 }, (_, index) => `${round} ${12 - index}`);
    expect(await claim(20)).toMatchObject({ bounded: round > 0, keys: expected });
  }
});

test('a task without any priority, made so by hand, is found by a sweep and hides nothing', async () => {
  await insert('first', 10);
  await keysClaimed();
  await insert('none', 0);
  await insert('later', 0);
  await bench.pool.query(`update tasks set prioridade = null where chave_externa = 'none'`);
  expect(await keysClaimed()).toEqual(['later']);
  passTime();
  await insert('after', 4);
  expect(await keysClaimed()).toEqual(['none', 'after']);
});

test('a clock that was set back leaves tasks behind the cursor until a sweep', async () => {
  await insert('before', 0);
  await keysClaimed();
  await insert('set back', 3_600);
  expect(await keysClaimed()).toEqual([]);
  passTime();
  expect(await keysClaimed()).toEqual(['set back']);
});

test('a row set back by hand is found by a sweep', async () => {
  for (const key of ['1', '2']) await insert(key, 10);
  await keysClaimed();
  await bench.pool.query(`update tasks set status = 'pendente', executor = null where chave_externa = '1'`);
  expect(await keysClaimed()).toEqual([]);
  passTime();
  expect(await keysClaimed()).toEqual(['1']);
});

test('a row that was locked when the cursor passed is found by a sweep', async () => {
  await insert('locked', 10);
  await insert('free', 9);
  await withClient(bench, async (client) => {
    await client.query('begin');
    await client.query(`select from tasks where chave_externa = 'locked' for update`);
    expect(await keysClaimed()).toEqual(['free']);
    await client.query('rollback');
  });
  expect(await keysClaimed()).toEqual([]);
  passTime();
  expect(await keysClaimed()).toEqual(['locked']);
});

test('a route that was found empty is gone on with from then, so that what others claimed there is not walked over', async () => {
  await insert('seen', 10, 50, 'b');
  await claim(1, [{ route: 't:b', limit: 1 }]);
  const routes = [{ route: 't:b', limit: 5 }];
  await claim(5, routes);
  const [, known] = planner.plan({ routes, total: 5 }).stretches;
  const since = new Date(known?.bounds?.since ?? '').getTime();
  expect(Date.now() - since).toBeLessThan(9_000);
});

test('the stretches of one route share its limit', async () => {
  const routes = [
    { route: 't:a', limit: 2 },
    { route: 't:b', limit: 10 },
  ];
  await insert('first', 50);
  await claim(1, routes);
  for (const priority of [90, 50, 10])
    for (const n of [1, 2]) await insert(`${priority} ${n}`, 9 - n, priority);
  await insert('b', 5, 50, 'b');
  for (const expected of [
    ['90 1', '90 2', 'b'],
    ['50 1', '50 2'],
    ['10 1', '10 2'],
  ]) {
    expect(await claim(10, routes)).toMatchObject({ bounded: true, keys: expected });
  }
});

test('several routes with work are counted before they are locked, and one is not', async () => {
  const routes = ['t:a', 't:b'].map((route) => ({ route, limit: 2 }));
  for (let n = 0; n < 3; n += 1)
    for (const topic of ['a', 'b']) await insert(`${topic}${n}`, 9 - n, 50, topic);
  const shape = (): string => planner.plan({ routes, total: 2 }).shape;
  expect(shape()).toBe('single');
  expect((await claim(2, routes)).keys).toEqual(['a0', 'b0']);
  expect(shape()).toBe('counted');
  expect((await claim(2, routes)).keys).toEqual(['a1', 'b1']);
  await claim(2, routes);
  for (let n = 0; n < 16; n += 1) await claim(2, routes);
  expect(shape()).toBe('single');
});

/** A cursor that is told what claims took, without a database. */
function cursorAlone(): { cursor: ClaimCursor; routes: RouteDemand[]; learn: (tookMs: number) => void } {
  const cursor = new ClaimCursor(() => clock);
  const routes = [{ route: 't:a', limit: 1 }];
  const learn = (tookMs: number): void => {
    const request = { shape: 'single', stretches: cursor.stretches(routes), total: 1 } as const;
    const due = '2026-01-01 00:00:00+00';
    const claimed = [{ route: 't:a', priority: 50, due } as ClaimedTask];
    cursor.learn(
      request,
      {
        settledOnly: undefined,
        claimed,
        lockedRoutes: [],
        contended: false,
        exhaustedAt: undefined,
        refused: false,
      },
      tookMs,
    );
  };
  return { cursor, routes, learn };
}

test('an unburdened queue is claimed from the front', () => {
  const { cursor, routes, learn } = cursorAlone();
  learn(1);
  expect(cursor.stretches(routes)[0]?.bounds).toBeDefined();
  learn(1);
  clock += 40;
  // From here on the front costs no more than any other start.
  for (let n = 0; n < 10; n += 1) {
    expect(cursor.stretches(routes)[0]?.bounds).toBeUndefined();
    learn(1);
  }
  // One alone may have met a stall; when it gets dear, sweeps take 3% of the time.
  learn(31);
  expect(cursor.sweepInMs).toBeLessThanOrEqual(0);
  learn(31);
  expect(cursor.sweepInMs).toBeCloseTo(30 / 0.03 - 30);
});

test('two dear sweeps in a row are rare sweeps, and one or a cheap one between them is not', () => {
  const { cursor, learn } = cursorAlone();
  const rarely = [200, 1, 200, 200, 200, 200, 1].map((tookMs) => {
    clock += 60_000;
    learn(tookMs);
    return cursor.sweepsRarely;
  });
  expect(rarely).toEqual([false, false, false, false, true, true, false]);
});
