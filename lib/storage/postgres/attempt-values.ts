import type { Completion, Failure, WorkerId } from '../attempt.js';
import { numberArray, textArray } from './array-text.js';

/** Values of `settle`, and the first ones of the statements that claim. */
export function settleValues(workerId: WorkerId, given: readonly Completion[]): readonly unknown[] {
  const completions = leastFirst(given);
  return [
    numberArray(completions.map(({ id }) => id)),
    numberArray(completions.map(({ reservation }) => reservation)),
    textArray(completions.map(({ message }) => message)),
    textArray(completions.map(({ result }) => result)),
    workerId,
  ];
}

/** Puts the completion with the least id first. */
function leastFirst(all: readonly Completion[]): readonly Completion[] {
  const ids = all.map(({ id }) => BigInt(id));
  const place = ids.reduce((least, id, index) => (id < (ids[least] ?? id) ? index : least), 0);
  const [first, least] = [all[0], all[place]];
  return first && least && place > 0 ? all.with(0, least).with(place, first) : all;
}

/** Values of `snooze`. */
export function snoozeValues(snoozed: readonly Failure[]): readonly unknown[] {
  const [ids, reservations, workers, messages, , , delays, , times] = failureValues(snoozed);
  return [ids, reservations, workers, messages, delays, times];
}

/** Values of `fail`. */
export function failureValues(failures: readonly Failure[]): readonly unknown[] {
  return [
    failures.map(({ id }) => id),
    failures.map(({ reservation }) => reservation),
    failures.map(({ workerId }) => workerId),
    failures.map(({ message }) => message),
    failures.map(({ note }) => note),
    failures.map(({ error }) => error),
    failures.map(({ next }) => (next && 'delayMs' in next ? next.delayMs : null)),
    failures.map(({ next }) => next?.kind === 'after-failure'),
    failures.map(({ next }) => (next?.kind === 'at' ? next.date.toISOString() : null)),
    failures.map(({ nextLosses }) => nextLosses),
    failures.map(({ untouched }) => untouched ?? false),
  ];
}
