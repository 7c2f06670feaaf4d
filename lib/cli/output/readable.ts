// Numbers as people read them.

/** `350 ms`, `4.2 s`, `12 min 5 s`, `3 h 20 min`, `5 d 2 h`. */
export function readableDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '';
  const sign = ms < 0 ? '-' : '';
  const all = Math.abs(ms);
  if (all < 1_000) return `${sign}${Math.round(all)} ms`;
  if (all < 60_000) return `${sign}${(all / 1_000).toFixed(1)} s`;
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) => Math.floor(all / unit)) as [
    number,
    number,
    number,
  ];
  const days = Math.floor(hours / 24);
  if (days > 0) return `${sign}${days} d ${hours % 24} h`;
  return hours > 0 ? `${sign}${hours} h ${minutes % 60} min` : `${sign}${minutes} min ${seconds % 60} s`;
}

/** `850 B`, `12.4 MB`. */
export function readableBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** `12,345`; `10,000+` where counting stopped there. */
export function readableCount(count: number, isCapped = false): string {
  return `${count.toLocaleString('en-US')}${isCapped ? '+' : ''}`;
}

/** A topic or subscription as a reader calls it. */
export function readableTopic(topic: string | null, dead = false): string {
  return `${topic ?? '(none)'}${dead ? ' (dead)' : ''}`;
}
