import { TarefaError } from '../errors.js';

/** A length of time: ms, or what its parts add up to. */
export type Duration =
  | number
  | {
      readonly days?: number | undefined;
      readonly hours?: number | undefined;
      readonly minutes?: number | undefined;
      readonly seconds?: number | undefined;
      readonly ms?: number | undefined;
    };

const unitsInMs: Readonly<Record<string, number>> = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  ms: 1,
};

/** @throws {TarefaError} `INPUT_INVALID` */
export function inMs(duration: Duration): number {
  const parts = typeof duration === 'number' ? { ms: duration } : duration;
  let sum = 0;
  for (const [unit, amount] of Object.entries(parts)) {
    if (amount === undefined) continue;
    const unitInMs = unitsInMs[unit];
    if (unitInMs === undefined || !(Number.isFinite(amount) && amount >= 0)) {
      throw new TarefaError(
        'INPUT_INVALID',
        `a duration must be given in ${Object.keys(unitsInMs).join(', ')}, none of them negative, not ${unit}: ${String(amount)}`,
      );
    }
    sum += unitInMs * amount;
  }
  return sum;
}
