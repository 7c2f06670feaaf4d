import { beforeEach, expect, test } from 'vitest';
import { onlySettled } from '../../lib/storage/claims.js';
import { topicRoute } from '../../lib/storage/route.js';
import { RowsApart, type RefusedRow } from '../../lib/storage/rows-apart.js';

let now = 0;
let warnings: string[] = [];
let apart: RowsApart;

beforeEach(() => {
  now = 0;
  warnings = [];
  apart = new RowsApart(
    (message) => warnings.push(message),
    () => now,
  );
});

const row = (id: string, topic = 'a'): RefusedRow => ({
  id,
  route: topicRoute(topic),
  error: new Error(`no ${id}`),
});

test('a row is left out for a second, then for twice as long each time, a minute at most, and told once', () => {
  const waits: number[] = [];
  for (let times = 0; times < 8; times += 1) {
    expect(apart.add([row('7')])).toBe(true);
    expect(apart.ids).toEqual(['7']);
    const { until = NaN } = apart;
    waits.push(until - now);
    now = until;
    expect(apart.ids).toEqual([]);
    expect(apart.until).toBeUndefined();
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(warnings).toEqual([expect.stringMatching(/^Attempt 7 cannot be changed: no 7\./)]);
});

test('what is apart is why nothing is claimed, until something is', () => {
  expect(apart.isAny).toBe(false);
  expect(apart.refusal).toBeUndefined();
  apart.add([row('7'), row('8')]);
  const refusal =
    'the database refuses every change to the attempts it would claim (2 attempts skipped): no 8';
  expect(apart.refusal).toBe(refusal);
  // Between two tries as well.
  now = 60_000;
  expect(apart.refusal).toBe(refusal);
  apart.claimed();
  expect(apart.refusal).toBeUndefined();
  // One that is known says nothing of others; one that is new may be the first of many.
  apart.add([row('7')]);
  expect(apart.refusal).toBeUndefined();
  apart.add([row('9')]);
  expect(apart.refusal).toContain('(3 attempts skipped): no 9');
  expect(apart.isAny).toBe(true);
  now += 200_000;
  expect(apart.refusal, 'what was not met again for long may be gone').toBeUndefined();
  expect(apart.isAny).toBe(false);
});

test('a row that was not refused for long starts over', () => {
  for (let times = 0; times < 4; times += 1) apart.add([row('7')]);
  now += 120_000;
  apart.add([row('7')]);
  expect(apart.until).toBe(121_000);
});

test('a row that a statement left out is due again however late the statement answers', () => {
  apart.add([row('7')]);
  now = 999;
  const { until } = apart;
  now = 1_005;
  expect(apart.announced(onlySettled(undefined), until)).toMatchObject({ lookAgainInMs: 0 });
});

test('of too many rows the routes are left out as a whole, and demands do not ask for them', () => {
  const rows = Array.from({ length: 1_002 }, (_, index) => row(String(index + 1), index < 1_000 ? 'a' : 'b'));
  expect(apart.add(rows)).toBe(true);
  expect(apart.ids).toHaveLength(1_000);
  expect(apart.routes).toEqual([topicRoute('b')]);
  expect(apart.refusal).toContain('(1000 attempts and 1 route skipped): no 1001');
  const demand = {
    total: 1,
    order: 'age',
    routes: ['a', 'b'].map((topic) => ({ route: topicRoute(topic), limit: 1 })),
  } as const;
  expect(apart.without(demand).routes).toEqual([{ route: topicRoute('a'), limit: 1 }]);
  expect(warnings.at(-1)).toMatch(
    /^More than 1000 attempts cannot be changed, such as 1001: no 1001\. .*topic 'b'/,
  );
  expect(apart.add([{ id: '9999', route: undefined, error: new Error('no') }])).toBe(false);
});
