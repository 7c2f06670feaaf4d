/** The middle one of the sorted values; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? at(sorted, middle) : (at(sorted, middle - 1) + at(sorted, middle)) / 2;
}

/** The smallest value that at least this share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return at(sorted, Math.min(sorted.length, Math.max(1, Math.ceil(sorted.length * share))) - 1);
}

/** Four significant digits at least, and never a fraction of a large number. */
export function round(value: number): number {
  if (!Number.isFinite(value)) return value;
  const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.abs(value) || 1))));
  return Number(value.toFixed(digits));
}

function at(sorted: readonly number[], index: number): number {
  return sorted[index] ?? Number.NaN;
}
