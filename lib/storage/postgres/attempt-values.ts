import type { Completion, Failure, WorkerId } from '../attempt.js';
import { numberArray, textArray } from './array-text.js';

/** Values of `settle`, and the first ones of the statements that claim. */
export function settleValues(workerId: WorkerId, completions: readonly Completion[]): readonly unknown[] {
  return [
    numberArray(completions.map(({ id }) => id)),
    numberArray(completions.map(({ reservation }) => reservation)),
    textArray(completions.map(({ message }) => message)),
    textArray(completions.map(({ result }) => result)),
    workerId,
  ];
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
