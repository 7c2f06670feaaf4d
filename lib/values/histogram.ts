// Durations are counted in buckets of which each is √2 times as wide as the one before: percentiles are right to a fifth,
// and a day takes fifty numbers.

/** Greatest durations of the buckets, in ms; what is longer falls into one more. */
const bounds: readonly number[] = Array.from({ length: 54 }, (_, index) => Math.round(2 ** (index / 2)));

/** How many durations fell into each bucket; buckets at the end that are empty are left out. */
export type Histogram = readonly number[];

/** Counts durations, each `weight` times. A negative one, from clocks that disagree, counts as 0. */
export function histogramOf(durationsMs: readonly number[], weight: number): Histogram {
  const counts: number[] = [];
  for (const duration of durationsMs) {
    const index = bucketOf(duration);
    while (counts.length <= index) counts.push(0);
    counts[index] = (counts[index] ?? 0) + weight;
  }
  return counts;
}

/** The duration in ms that `percent` of all do not exceed, interpolated within its bucket; null when nothing was counted. */
export function percentile(histogram: Histogram, percent: number): number | null {
  const total = histogram.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let left = (total * percent) / 100;
  for (const [index, count] of histogram.entries()) {
    if (left > count) {
      left -= count;
      continue;
    }
    const from = index === 0 ? 0 : (bounds[index - 1] ?? longest);
    const to = bounds[index] ?? longest;
    return Math.round(from + (to - from) * (count === 0 ? 1 : left / count));
  }
  return bounds[histogram.length - 1] ?? longest;
}

const longest = bounds.at(-1) ?? 0;

function bucketOf(duration: number): number {
  const index = bounds.findIndex((bound) => duration <= bound);
  return index === -1 ? bounds.length : index;
}
