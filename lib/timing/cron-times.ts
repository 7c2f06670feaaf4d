import { nextMatch, type CronFields } from './cron.js';
import { changeBetween, offsetAt } from './zone-clock.js';

const dayMs = 86_400_000;

/**
 * The first time after another at which a cron expression holds by the clocks of a zone; both in ms since 1970, undefined when
 * there is none.
 *
 * Clocks that are set forward leave times out, and those that are set back show some twice. What runs in every hour follows the time
 * that passes: it runs in both of two equal hours, and not in one that is left out. What runs at given hours runs once: the
 * first time of two, and of what is left out when the clocks are set.
 */
export function nextCronTime(fields: CronFields, zone: string, afterMs: number): number | undefined {
  return isOfEveryHour(fields)
    ? nextOfEveryHour(fields, zone, afterMs)
    : nextOfGivenHours(fields, zone, afterMs);
}

/** True of what follows the time that passes; what runs at given hours goes by what clocks show. */
export function isOfEveryHour({ hour }: CronFields): boolean {
  return hour.size === 24;
}

function nextOfGivenHours(fields: CronFields, zone: string, afterMs: number): number | undefined {
  let wall = nextMatch(fields, afterMs + offsetAt(zone, afterMs));
  while (wall !== undefined) {
    const [first = changeAround(zone, wall)] = timesShowing(zone, wall);
    // Earlier than that are those that were shown before the clocks were set back.
    if (first > afterMs) return first;
    wall = nextMatch(fields, wall);
  }
  return undefined;
}

function nextOfEveryHour(fields: CronFields, zone: string, afterMs: number): number | undefined {
  const offset = offsetAt(zone, afterMs);
  const repeated = nextRepeated(fields, zone, afterMs);
  let wall = nextMatch(fields, afterMs + offset);
  while (wall !== undefined) {
    const next = timesShowing(zone, wall).find((time) => time > afterMs);
    if (next !== undefined) return repeated === undefined ? next : Math.min(next, repeated);
    wall = nextMatch(fields, wall);
  }
  return repeated;
}

/** The first time of those that clocks show once more, where they are about to be set back behind what they show now. */
function nextRepeated(fields: CronFields, zone: string, afterMs: number): number | undefined {
  const [offset, later] = [offsetAt(zone, afterMs), offsetAt(zone, afterMs + dayMs)];
  if (later >= offset) return undefined;
  const set = changeBetween(zone, afterMs, afterMs + dayMs);
  if (set + later > afterMs + offset) return undefined;
  const wall = nextMatch(fields, set + later - 1);
  return wall === undefined ? undefined : wall - later;
}

/** When the clocks of a zone show something: once, never or twice, in order. */
function timesShowing(zone: string, wall: number): readonly number[] {
  const offsets = new Set([offsetAt(zone, wall - dayMs), offsetAt(zone, wall + dayMs)]);
  const times = [...offsets].map((offset) => wall - offset);
  return times.filter((time) => offsetAt(zone, time) === wall - time).sort((a, b) => a - b);
}

/** When clocks leave out what they would have shown. */
function changeAround(zone: string, wall: number): number {
  return changeBetween(zone, wall - dayMs, wall + dayMs);
}
