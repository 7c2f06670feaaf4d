// Which values stand at the edges of a chart.

/** Steps of time that people count in, in ms. */
const timeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 43_200].map(
    (s) => s * 1000,
  ),
);

/** What is written at a logarithmic axis, in ms. */
const logTicks = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000, 864_000_000];

/** @typedef {{ readonly ticks: readonly number[], readonly at: (value: number) => number }} Scale `at`: 0 to 1 */

/**
 * From 0 to something round above the largest.
 *
 * @param {number} largest
 * @param {boolean} isTime
 * @returns {Scale}
 */
export function linearScale(largest, isTime) {
  const step = stepFor(Math.max(largest, isTime ? 4 : 1) / 4, isTime);
  const count = Math.max(1, Math.ceil(largest / step));
  const ticks = Array.from({ length: count + 1 }, (_, index) => index * step);
  return { ticks, at: (value) => Math.max(0, value) / (count * step) };
}

/**
 * Each decade as high as the next, so that a long tail does not flatten the rest. What is below 1 stands at 1.
 *
 * @param {number} smallest
 * @param {number} largest
 * @returns {Scale}
 */
export function logScale(smallest, largest) {
  const low = logTicks.findLast((tick) => tick <= smallest) ?? 1;
  const high = logTicks.find((tick) => tick >= largest && tick > low) ?? Math.max(largest, 10);
  const span = Math.log(high / low);
  const ticks = [...logTicks.filter((tick) => tick >= low && tick < high), high];
  return { ticks, at: (value) => Math.log(Math.max(value, low) / low) / span };
}

/**
 * @param {number} least
 * @param {boolean} isTime
 */
function stepFor(least, isTime) {
  const known = isTime ? timeSteps.find((step) => step >= least) : undefined;
  if (known !== undefined) return known;
  const decade = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((times) => times * decade >= least * 0.999) ?? 10;
  return Math.max(isTime ? 0 : 1, factor * decade);
}
