import { beforeEach, expect, test } from 'vitest';
import type { RouteDemand } from '../../../lib/storage/attempt.js';
import type { Claims } from '../../../lib/storage/claims.js';
import { ClaimCursor } from '../../../lib/storage/claiming/claim-request.js';
import type { ClaimedRow } from '../../../lib/storage/task-row.js';
import { withClient } from '../../support/with-client.js';
import { useExpensiveFront } from './expensive-front.js';
import { useStorage } from '../../support/queue-storage.js';

const bench = useStorage();
const front = useExpensiveFront();
let clock = 0;
let claims: Claims;
let warnings: string[] = [];

beforeEach(() => {
  clock = 0;
  warnings = [];
  claims = bench.database.claimsOf(bench.workerId, {
    concurrency: 10,
    warn: (message) => warnings.push(message),
  });
});

/** Claims up to that many; returns the external keys. */
async function claim(total: number, routes: readonly RouteDemand[] = [{ route: 't:a', limit: total }]) {
  const { claimed } = await claims.settleAndClaim([], { routes, total, order: 'age' });
  return { bounded: front.bounded, keys: claimed.map(({ task }) => task.externalKey) };
}

const demand = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' } as const;

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
  front.passTime(60_000);
}

test('after an expensive claim from the front the next one starts where it ended, and goes on in order', async () => {
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
  claims.heard(Date.now() - 20_000, 50);
  expect(await keysClaimed()).toEqual([]);
  claims.heard(Date.now() - 60_000, 49);
  expect(await keysClaimed()).toEqual([]);
  claims.heard(Date.now() - 60_000, 50);
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

test('more priorities than are remembered are claimed anyway', async () => {
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
  const before = Date.now();
  await insert('seen', 10, 50, 'b');
  await claim(1, [{ route: 't:b', limit: 1 }]);
  const routes = [{ route: 't:b', limit: 5 }];
  await claim(5, routes);
  await claim(5, routes);
  const starts = front.values.at(-4) as readonly string[];
  const since = new Date(starts[1] ?? '').getTime();
  // Not from when the task was due.
  expect(since).toBeGreaterThan(before - 9_000);
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
  const shapes: string[] = [];
  for (const keys of [
    ['a0', 'b0'],
    ['a1', 'b1'],
    ['a2', 'b2'],
  ]) {
    expect((await claim(2, routes)).keys).toEqual(keys);
    shapes.push(front.statement);
  }
  expect(shapes).toEqual([
    'tarefa_settle_and_claim_single',
    'tarefa_settle_and_claim_counted_bounded',
    'tarefa_settle_and_claim_counted_bounded',
  ]);
  for (let n = 0; n < 16; n += 1) {
    await claim(2, routes);
    expect(front.statement).toContain('counted');
  }
  await claim(2, routes);
  expect(front.statement).toContain('single');
});

test('what a claim from its position could not see is claimed again when a sweep is due', async () => {
  await insert('first', 10);
  expect(await claims.settleAndClaim([], demand)).toMatchObject({ lookAgainInMs: undefined });
  const { lookAgainInMs, claimAgain } = await claims.settleAndClaim([], demand);
  expect({ bounded: front.bounded, claimAgain }).toEqual({ bounded: true, claimAgain: false });
  // 3% of the time for a second.
  expect(lookAgainInMs).toBeGreaterThan(30_000);
  expect(lookAgainInMs).toBeLessThan(34_000);
});

test('after lost rings the next claim starts at the front', async () => {
  await insert('first', 10);
  await claim(1);
  await insert('behind', 40);
  claims.invalidate();
  expect(await claim(1)).toEqual({ bounded: false, keys: ['behind'] });
});

test('what is run alone is claimed from the front, and moves nothing', async () => {
  await insert('first', 10);
  await claim(1);
  await insert('second', 5);
  expect(await claim(1, [{ route: '!t:a', limit: 1 }])).toEqual({ bounded: false, keys: [] });
  expect(front.statement).toBe('tarefa_settle_and_claim_counted');
  expect(await claim(1)).toEqual({ bounded: true, keys: ['second'] });
});

test('people are told once that sweeps have become rare', async () => {
  for (let n = 0; n < 4; n += 1) {
    await insert(String(n), 10);
    await claim(1);
    passTime();
  }
  expect(warnings).toEqual([
    expect.stringMatching(/^tasks without a ring, .* may wait for 3\d s: dead entries/),
  ]);
});

test('a route whose best attempts are locked gives way, and is claimed again in a second', async () => {
  const routes = ['t:a', 't:b'].map((route) => ({ route, limit: 2 }));
  for (let n = 0; n < 3; n += 1)
    for (const topic of ['a', 'b']) await insert(`${topic}${n}`, 9 - n, 50, topic);
  await claim(2, routes);
  await withClient(bench, async (client) => {
    await client.query('begin');
    await client.query(`select from tasks where processo = 'a' for update`);
    const result = await claims.settleAndClaim([], { routes, total: 2, order: 'age' });
    expect(result).toMatchObject({ blockedRoutes: ['t:a'], claimAgain: true });
    expect(result.claimed.map(({ task }) => task.externalKey)).toEqual(['b1']);
    expect(result.lookAgainInMs).toBeGreaterThan(900);
    // However often it is claimed meanwhile, that is still to be done.
    const other = await claims.settleAndClaim([], {
      routes: [{ route: 't:b', limit: 1 }],
      total: 1,
      order: 'age',
    });
    expect(other).toMatchObject({ blockedRoutes: [], claimAgain: false });
    expect(other.lookAgainInMs).toBeLessThanOrEqual(result.lookAgainInMs ?? 0);
    front.passTime(1_000);
    await client.query('rollback');
  });
  expect(await claims.settleAndClaim([], { routes, total: 1, order: 'age' })).toMatchObject({
    claimed: [{ task: { externalKey: 'a1' } }],
    lookAgainInMs: undefined,
  });
});

/** A cursor that is told what claims took, without a database. */
interface CursorAlone {
  readonly cursor: ClaimCursor;
  readonly routes: RouteDemand[];
  /** Claims what was due at the beginning of 2026. */
  readonly learn: (tookMs: number, meanwhile?: () => void) => void;
}

function cursorAlone(): CursorAlone {
  const cursor = new ClaimCursor(0, () => clock);
  const routes = [{ route: 't:a', limit: 1 }];
  const learn = (tookMs: number, meanwhile?: () => void): void => {
    const request = { shape: 'single', stretches: cursor.stretches(routes), total: 1, depth: 1 } as const;
    const due = '2026-01-01 00:00:00+00';
    const claimed = [{ route: 't:a', priority: 50, due } as ClaimedRow];
    cursor.sent(request);
    meanwhile?.();
    cursor.learn(
      request,
      {
        settledOnly: undefined,
        claimed,
        lockedRoutes: [],
        contended: false,
        exhaustedAt: undefined,
        isCut: false,
        moreRoutes: undefined,
        refused: [],
      },
      tookMs,
    );
  };
  return { cursor, routes, learn };
}

test.each<[string, number]>([
  ['before the next claim', 0],
  ['while a claim is under way, whose snapshot may be older', 20],
])('rings for something new move the cursor back by a second, however many come: %s', (_, meanwhile) => {
  const { cursor, routes, learn } = cursorAlone();
  const ring = (): void => cursor.moveBack('lately', Infinity);
  learn(1_000);
  learn(1_000);
  const sinceOf = () => cursor.stretches(routes).find(({ bounds }) => bounds?.highest === 50)?.bounds?.since;
  expect(sinceOf()).toBe('2026-01-01 00:00:00+00');
  learn(1_000, () => {
    for (let count = 0; count < meanwhile; count += 1) ring();
  });
  for (let count = meanwhile; count < 20; count += 1) ring();
  expect(sinceOf()).toBe('2025-12-31T23:59:59.000Z');
});

test('a queue without dead entries is claimed from the front', () => {
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
  // One alone may have met a stall; when it gets expensive, sweeps take 3% of the time.
  learn(31);
  expect(cursor.sweeps.dueInMs).toBeLessThanOrEqual(0);
  learn(31);
  expect(cursor.sweeps.dueInMs).toBeCloseTo(30 / 0.03 - 30);
});

test('two expensive sweeps in a row are rare sweeps; one is not, nor are two with a cheap one between them', () => {
  const { cursor, learn } = cursorAlone();
  const rarely = [200, 1, 200, 200, 200, 200, 1].map((tookMs) => {
    clock += 60_000;
    learn(tookMs);
    return cursor.sweepsRarely;
  });
  expect(rarely).toEqual([false, false, false, false, true, true, false]);
});
