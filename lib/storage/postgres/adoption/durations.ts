/** Bytes of a table and its indexes that a small server rewrites in a second. */
const rewrittenPerSecond = 30_000_000;

/** About how long a table is locked while it is rewritten with its indexes. */
export function rewriteSeconds(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / rewrittenPerSecond));
}

/** `8 kB`, `410 MB`, `12.4 GB`. */
export function describeBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit += 1;
  }
  return `${value < 10 && unit > 2 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}
