import { endlessName } from '../../storage/columns.js';

// Numbers and times as people read them.

/** Some 250 years: one of the two times is infinite, which statements and a `Date` put at some time as well. */
const endlessMs = 8e12;

/** `350 ms`, `4.2 s`, `12 min 5 s`, `3 h 20 min`, `5 d 2 h`; from or to what no clock shows: `infinity`. */
export function readableDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '';
  const sign = ms < 0 ? '-' : '';
  const all = Math.abs(ms);
  if (all > endlessMs) return `${sign}infinity`;
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

/** ISO 8601, in UTC or with the offset of this computer's zone; what no clock shows as PostgreSQL calls it; nothing when there is none. */
export function readableTime(time: Date, isUtc = true): string {
  const ms = time.getTime();
  if (Number.isNaN(ms)) return '';
  const endless = endlessName(time);
  if (endless) return endless;
  const minutes = isUtc ? 0 : -time.getTimezoneOffset();
  const local = new Date(ms + minutes * 60_000);
  if (minutes === 0 || Number.isNaN(local.getTime())) return time.toISOString();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.floor(Math.abs(minutes) % 60)];
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${local.toISOString().slice(0, -1)}${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`;
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
