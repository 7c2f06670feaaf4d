const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** From each failed attempt to the next one, by Standard Webhooks: 75 hours and 35 minutes in all. */
const delaysMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

/** Attempts of the standard schedule; the first one is made at once. */
export const standardAttempts: number = delaysMs.length + 1;

/** Shares that a delay is made shorter or longer by, so that what failed together does not return together. */
const jitter = 0.2;

/**
 * Ms from the failure of an attempt to the next one, with a jitter of 20 % either way; undefined when it was the last.
 *
 * @param failedAttempt 1 for the first
 * @param random from 0 to 1
 */
export function standardDelayMs(
  failedAttempt: number,
  random: () => number = Math.random,
): number | undefined {
  const delayMs = delaysMs[failedAttempt - 1];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 - jitter + 2 * jitter * random()));
}
