import { shownValue } from '../values/shown-value.js';
import type { OptionCheck } from './option-check.js';

/** What handlers share that have one `lane`. */
export interface Lane {
  readonly concurrency: number;
}

/** Reads the option, the mistakes of which `check` collects. */
export function resolveLanes(
  given: Readonly<Record<string, number>> | undefined,
  check: OptionCheck,
): ReadonlyMap<string, Lane> {
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    check.mistake(
      `lanes must be an object of numbers by name, such as { short: 8, long: 2 } (got ${shownValue(given)})`,
    );
    return new Map();
  }
  return new Map(
    Object.entries(given ?? {}).map(([name, concurrency]) => [
      name,
      { concurrency: check.whole(`lanes.${name}`, concurrency, 1, 10_000) },
    ]),
  );
}
