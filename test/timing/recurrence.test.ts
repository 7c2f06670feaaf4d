import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  dueTimes,
  graceMs,
  recurrence,
  timeAfterSetBack,
  type RecurrenceRule,
} from '../../lib/timing/recurrence.js';

const rule: RecurrenceRule = { cron: null, every: null, timezone: 'UTC', startsAt: null, endsAt: null };
const at = (text: string): number => Date.parse(text);

test('every counts from 1970, or from its start, whoever asks and when', () => {
  const hourly = recurrence({ ...rule, every: 3_600_000 });
  expect(hourly(at('2026-06-01T10:00:00Z'))).toBe(at('2026-06-01T11:00:00Z'));
  expect(hourly(at('2026-06-01T10:59:59.999Z'))).toBe(at('2026-06-01T11:00:00Z'));
  const started = recurrence({ ...rule, every: 3_600_000, startsAt: '2026-06-01T10:07:00.000Z' });
  expect(started(0)).toBe(at('2026-06-01T10:07:00Z'));
  expect(started(at('2026-06-01T10:07:00Z'))).toBe(at('2026-06-01T11:07:00Z'));
});

test('nothing recurs before its start or after its end', () => {
  const bounds = { startsAt: '2026-06-02T03:00:00.000Z', endsAt: '2026-06-04T03:00:00.000Z' };
  const next = recurrence({ ...rule, cron: '0 3 * * *', ...bounds });
  const times: number[] = [];
  for (let time = next(0); time !== undefined; time = next(time)) times.push(time);
  expect(times.map((time) => new Date(time).toISOString().slice(0, 13))).toEqual([
    '2026-06-02T03',
    '2026-06-03T03',
    '2026-06-04T03',
  ]);
});

test('what is found in time makes a task, whatever is done with what is missed', () => {
  const next = recurrence({ ...rule, every: 600_000 });
  for (const missed of ['skip', 'once', 'all'] as const) {
    expect(dueTimes(next, missed, 600_000, 600_000 + graceMs)).toEqual({
      taken: [600_000],
      left: 0,
      next: 1_200_000,
    });
  }
});

test('what is missed makes no task, one, or all of them', () => {
  const next = recurrence({ ...rule, every: 600_000 });
  const now = 3_000_000 + graceMs + 1;
  const times = [600_000, 1_200_000, 1_800_000, 2_400_000, 3_000_000];
  expect(dueTimes(next, 'skip', 600_000, now)).toEqual({ taken: [], left: 5, next: 3_600_000 });
  expect(dueTimes(next, 'once', 600_000, now)).toEqual({ taken: [3_000_000], left: 4, next: 3_600_000 });
  expect(dueTimes(next, 'all', 600_000, now)).toEqual({ taken: times, left: 0, next: 3_600_000 });
});

test('after a clock was set back what follows the time that passes goes on, but not with the time that it has just had', () => {
  const [every, hourMs] = [{ ...rule, every: 600_000 }, 3_600_000];
  const planned = at('2026-06-01T12:10:00Z');
  const last = planned - 600_000;
  const now = planned - 2 * hourMs - 1;
  expect(timeAfterSetBack(every, planned, last, now)).toBe(planned - 2 * hourMs);
  expect(timeAfterSetBack({ ...rule, cron: '*/10 * * * *' }, planned, last, now)).toBe(planned - 2 * hourMs);
  expect(timeAfterSetBack(every, planned, last, last - 1), 'it has run at that').toBeUndefined();
  expect(timeAfterSetBack(every, planned, undefined, last - 1)).toBe(last);
  expect(timeAfterSetBack(every, planned, last, last + 1), 'nothing was set back').toBeUndefined();
  const startsAt = new Date(planned).toISOString();
  expect(timeAfterSetBack({ ...every, startsAt }, planned, undefined, now)).toBeUndefined();
  const second = { ...rule, every: 1_000 };
  expect(timeAfterSetBack(second, planned, planned - 1_000, planned - graceMs - 1_000)).toBeUndefined();
});

test('what runs at given hours stays at its next day though the clock shows an hour again', () => {
  const planned = at('2026-06-02T03:00:00Z');
  const nightly = { ...rule, cron: '0 3 * * *' };
  expect(timeAfterSetBack(nightly, planned, planned - 86_400_000, planned - 90_000_000)).toBeUndefined();
});

/** By rules that end: each time once, the same whether they are looked at all at once or again and again. */
test('however often it is looked at, each time is decided once, and none is invented', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('skip' as const, 'once' as const, 'all' as const),
      fc.integer({ min: 1, max: 400 }),
      fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 20 }),
      (missed, everySeconds, pauses) => {
        const every = everySeconds * 1_000;
        const next = recurrence({ ...rule, every });
        const decided: number[] = [];
        let [due, now, left] = [every, every, 0];
        for (const pause of pauses) {
          now += pause * 1_000;
          if (due > now) continue;
          const found = dueTimes(next, missed, due, now);
          decided.push(...found.taken);
          left += found.left;
          due = found.next ?? Infinity;
          expect(due > now || missed === 'all').toBe(true);
        }
        expect(new Set(decided).size).toBe(decided.length);
        expect(decided).toEqual(decided.toSorted((a, b) => a - b));
        expect(decided.every((time) => time % every === 0 && time > 0 && time <= now)).toBe(true);
        expect(decided.length + left).toBe(due / every - 1);
      },
    ),
  );
});

test('all that was missed comes in blocks', () => {
  const next = recurrence({ ...rule, every: 1_000 });
  const block = dueTimes(next, 'all', 1_000, 5_000_000);
  expect(block).toMatchObject({ left: 0, next: 1_001_000 });
  expect(block.taken).toHaveLength(1_000);
});

const yearLater = at('1971-01-01T00:00:00Z');

test.each([
  ['ever since', null, { taken: [yearLater - 1_000, yearLater], next: yearLater + 1_000 }],
  ['until it ended', '1970-12-01T00:00:00.000Z', { taken: [at('1970-12-01T00:00:00Z')], next: undefined }],
])('a year of seconds is caught up with at once, %s', (_, endsAt, expected) => {
  const next = recurrence({ ...rule, cron: '* * * * * *', endsAt });
  expect(dueTimes(next, 'once', 1_000, yearLater)).toMatchObject(expected);
});
