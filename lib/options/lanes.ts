import { shownValue } from '../values/shown-value.js';
import type { OptionCheck } from './option-check.js';

/** What handlers share that have one `lane`. */
export interface Lane {
  readonly concurrency: number;
}

/** By name. */
export type Lanes = Readonly<Record<string, Lane>>;

/** Reads the option, the mistakes of which `check` collects. */
export function resolveLanes(given: Readonly<Record<string, number>> | undefined, check: OptionCheck): Lanes {
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    check.mistake(
      `lanes must be an object of numbers by name, such as { short: 8, long: 2 } (got ${shownValue(given)})`,
    );
    return {};
  }
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([name, concurrency]) => [
      name,
      { concurrency: check.whole(`lanes.${name}`, concurrency, 1, 10_000) },
    ]),
  );
}
