import { array, assert, boolean, constantFrom, integer, option, property, record } from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assignRounds,
  copyDistance,
  type RoundRow,
} from '../../lib/storage/postgres/adoption/assign-rounds.js';

const base: Omit<RoundRow, 'id'> = {
  previousId: null,
  firstId: null,
  dead: false,
  liveId: null,
  publicationId: null,
  subscriptionId: null,
  attempt: 1,
  exhausted: false,
  round: 0,
};

const row = (id: number, rest: Partial<RoundRow> = {}): RoundRow => ({ ...base, id: String(id), ...rest });
const after = (id: number, previous: number, first = 1, rest: Partial<RoundRow> = {}): RoundRow =>
  row(id, { previousId: String(previous), firstId: String(first), attempt: 2, ...rest });

const rounds = (...rows: RoundRow[]): Readonly<Record<string, number>> =>
  Object.fromEntries(assignRounds(rows));

describe('rounds', () => {
  test('a chain without copies keeps what it has', () => {
    expect(rounds(row(1), after(2, 1), after(3, 2, 1, { attempt: 3 }))).toEqual({});
  });

  test('a second next attempt gets one, and so does all that follows from it', () => {
    expect(
      rounds(
        row(1),
        after(2, 1),
        after(3, 1),
        after(4, 2, 1, { attempt: 3 }),
        after(5, 3, 1, { attempt: 3 }),
      ),
    ).toEqual({ 3: 1_000, 5: 1_000 });
  });

  test('a third one gets another, whatever order they come in', () => {
    expect(rounds(after(4, 1), after(3, 1), row(1), after(2, 1))).toEqual({ 3: 1_000, 4: 2_000 });
  });

  test('ids are compared as numbers', () => {
    expect(rounds(row(1), after(9, 1), after(10, 1))).toEqual({ 10: 1_000 });
    const large = 2n ** 60n;
    const last = (offset: bigint): RoundRow => ({ ...after(0, 1), id: String(large + offset) });
    expect(rounds(row(1), last(3n), last(2n))).toEqual({ [String(large + 3n)]: 1_000 });
  });

  test('dead chains belong to the branches that have run out of attempts', () => {
    expect(
      rounds(
        row(1),
        after(2, 1),
        after(3, 1, 1, { exhausted: true }),
        row(4, { dead: true, liveId: '1' }),
        // The first branch may still die: its dead chain will have the round 0.
      ),
    ).toEqual({ 3: 1_000, 4: 1_000 });
  });

  test('two dead chains of one task are told apart with their attempts', () => {
    expect(
      rounds(
        row(1, { exhausted: true }),
        row(2, { dead: true, liveId: '1' }),
        row(3, { dead: true, liveId: '1' }),
        after(4, 3, 3, { dead: true, liveId: '1' }),
      ),
    ).toEqual({ 3: 1_000, 4: 1_000 });
  });

  test('two deliveries of a publication to one subscription are told apart, with their dead chains', () => {
    const delivery = { publicationId: '1', subscriptionId: 'mail' };
    expect(
      rounds(
        row(2, { ...delivery, exhausted: true }),
        row(3, { ...delivery, exhausted: true }),
        row(4, { ...delivery, dead: true, liveId: '2' }),
        row(5, { ...delivery, dead: true, liveId: '3' }),
      ),
    ).toEqual({ 3: 1_000, 5: 1_000 });
  });

  test('replays keep theirs, and copies stay clear of them', () => {
    expect(
      rounds(row(1), after(2, 1, 1, { round: 1 }), after(3, 2, 1, { round: 1 }), after(4, 2, 1)),
    ).toEqual({
      4: 1_000,
    });
    expect(rounds(row(1), after(2, 1), after(3, 1, 1, { round: 1_003 }), after(4, 1))).toEqual({ 4: 2_000 });
  });
});

const anyRow = record({
  previousId: option(integer({ min: 1, max: 12 }).map(String), { nil: null }),
  firstId: option(integer({ min: 1, max: 12 }).map(String), { nil: null }),
  dead: boolean(),
  liveId: option(integer({ min: 1, max: 4 }).map(String), { nil: null }),
  publicationId: option(constantFrom('1', '2'), { nil: null }),
  subscriptionId: option(constantFrom('a', 'b'), { nil: null }),
  attempt: option(integer({ min: 1, max: 3 }), { nil: null }),
  exhausted: boolean(),
  round: constantFrom(0, 0, 0, 1, 1_000),
});

/** What each of the unique indexes has of a row, as PostgreSQL compares it. */
function indexed(one: RoundRow): readonly string[] {
  const keys: string[] = [];
  if (one.previousId !== null) keys.push(`successor ${one.previousId} ${one.round}`);
  if (one.dead && one.previousId === null && one.liveId !== null)
    keys.push(`dead ${one.liveId} ${one.round}`);
  if (one.publicationId !== null && one.subscriptionId !== null && one.attempt !== null) {
    keys.push(
      [
        'deliveries',
        one.publicationId,
        one.subscriptionId,
        one.round,
        one.dead,
        one.attempt,
        one.liveId ?? 0,
      ].join(' '),
    );
  }
  return keys;
}

test('whatever was left behind, afterwards no index meets anything twice, and doing it again changes nothing', () => {
  assert(
    property(array(anyRow, { maxLength: 30 }), (given) => {
      const rows = given.map((rest, index) => ({ ...rest, id: String(index + 1) }));
      const changed = assignRounds(rows);
      const told = rows.map((one) => ({ ...one, round: changed.get(one.id) ?? one.round }));
      const keys = told.flatMap(indexed);
      expect(new Set(keys).size).toBe(keys.length);
      expect(assignRounds(told)).toEqual(new Map());
      for (const round of changed.values()) expect(round % copyDistance === 0 || round === 1).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
