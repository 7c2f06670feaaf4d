import { parseCron } from './cron.js';
import { isOfEveryHour, nextCronTime } from './cron-times.js';

/** When something recurs. */
export interface RecurrenceRule {
  /** Null: by `every`. */
  readonly cron: string | null;
  /** Ms from one time to the next, counted from `startsAt` or from 1970. Null: by `cron`. */
  readonly every: number | null;
  /** Whose clocks `cron` goes by. */
  readonly timezone: string;
  /** ISO 8601 in UTC: not before. */
  readonly startsAt: string | null;
  /** Not after. */
  readonly endsAt: string | null;
}

/** The first time after another at which something recurs, both in ms since 1970; undefined when it never does again. */
export type NextTime = (afterMs: number) => number | undefined;

/** @throws {Error} that says what is wrong with the cron expression */
export function recurrence({ cron, every, timezone, startsAt, endsAt }: RecurrenceRule): NextTime {
  const [first, last] = [readTime(startsAt, -Infinity), readTime(endsAt, Infinity)];
  const next = cron === null ? nextOf(every ?? Infinity, startsAt) : nextOfCron(cron, timezone);
  return (afterMs) => {
    const time = next(Math.max(afterMs, first - 1));
    return time !== undefined && time <= last ? time : undefined;
  };
}

/**
 * The next time of what was planned by a clock that was set back since; undefined where that stays as it is. What follows the time
 * that passes goes on. What runs at given hours does not: it has run at those that the clock shows again.
 *
 * @param plannedMs the next time by the clock before
 * @param lastMs the latest time that was taken
 */
export function timeAfterSetBack(
  rule: RecurrenceRule,
  plannedMs: number,
  lastMs: number | undefined,
  nowMs: number,
): number | undefined {
  if (rule.cron !== null && !isOfEveryHour(parseCron(rule.cron))) return undefined;
  const next = recurrence(rule);
  const first = next(nowMs);
  const free = first !== undefined && first === lastMs ? next(first) : first;
  return free !== undefined && free + graceMs < plannedMs ? free : undefined;
}

/** When something goes on: after now, and after the last time that made a task, whatever the clock says. Null: never. */
export function firstTime(rule: RecurrenceRule, nowMs: number, lastAt: Date | null): Date | null {
  const nextMs = recurrence(rule)(Math.max(nowMs, lastAt?.getTime() ?? nowMs));
  return nextMs === undefined ? null : new Date(nextMs);
}

function nextOf(every: number, startsAt: string | null): NextTime {
  const start = readTime(startsAt, 0);
  return (afterMs) => start + (Math.floor((afterMs - start) / every) + 1) * every;
}

function nextOfCron(cron: string, timezone: string): NextTime {
  const fields = parseCron(cron);
  return (afterMs) => nextCronTime(fields, timezone, afterMs);
}

function readTime(iso: string | null, missing: number): number {
  return iso === null ? missing : Date.parse(iso);
}

/** What is done with times that were missed. */
export type MissedRule = 'skip' | 'once' | 'all';

/** What has become due. */
export interface DueTimes {
  /** The times that make a task each. */
  readonly taken: readonly number[];
  /** How many make none. Of a long time that is caught up with at once, those that were counted. */
  readonly left: number;
  /** The first time that is not among these; undefined when there is none. With `all` it may be past. */
  readonly next: number | undefined;
}

/** A time that is found later than that is missed. */
export const graceMs = 60_000;

/** So many times are looked at in one go. */
const mostTimes = 1_000;

/**
 * Decides about all times from the first one that is due until now. What is found within {@link graceMs} is on time, unless the next
 * one is due as well.
 */
export function dueTimes(next: NextTime, missed: MissedRule, firstMs: number, nowMs: number): DueTimes {
  const walked = walk(next, firstMs, nowMs);
  if (missed === 'all') return { taken: walked.times, left: 0, next: walked.next };
  const isBehind = walked.next !== undefined && walked.next <= nowMs;
  const { times, next: after } = isBehind ? walk(next, latest(next, nowMs), nowMs) : walked;
  const late = nowMs - (times.at(-1) ?? 0) > graceMs ? times : times.slice(0, -1);
  const onTime = times.slice(late.length);
  const taken = missed === 'once' ? [...late.slice(-1), ...onTime] : onTime;
  const count = times.length + (isBehind ? walked.times.length : 0);
  return { taken, left: count - taken.length, next: after };
}

function walk(
  next: NextTime,
  firstMs: number,
  nowMs: number,
): { readonly times: readonly number[]; readonly next: number | undefined } {
  const times = [firstMs];
  let after = next(firstMs);
  while (after !== undefined && after <= nowMs && times.length < mostTimes) {
    times.push(after);
    after = next(after);
  }
  return { times, next: after };
}

/** The last time that is later than {@link graceMs}. There is one. */
function latest(next: NextTime, nowMs: number): number {
  const limit = nowMs - graceMs;
  const isWithin = (ms: number): boolean => (next(limit - ms) ?? Infinity) <= limit;
  let enough = 1_000;
  while (!isWithin(enough)) enough *= 2;
  for (let less = 0; enough - less > 1;) {
    const middle = Math.floor((less + enough) / 2);
    if (isWithin(middle)) enough = middle;
    else less = middle;
  }
  return next(limit - enough) ?? limit;
}
