/** A time of a row (`2026-11-25T20:46:00.123456Z`) as the server takes it: it reads no zone, and all its times are in UTC. */
export function sqlTime(iso: string): string {
  return iso.replace('T', ' ').replace('Z', '');
}

/** A moment of this process, likewise. */
export function sqlMoment(moment: Date): string {
  return sqlTime(moment.toISOString());
}

/** Time of the server, to the microsecond: what every statement means by now. */
export const now = 'utc_timestamp(6)';

/** SQL of a time that many milliseconds from another: `ms` is SQL as well, and may be a fraction. */
export const after = (ms: string, since = now): string =>
  `timestampadd(microsecond, cast(round((${ms}) * 1000) as signed), ${since})`;

/** SQL of a time in milliseconds since 1970, a fraction. */
export const epochMs = (time: string): string => msBetween(`'1970-01-01'`, time);

/** SQL of the milliseconds from one time to another, a fraction. */
export const msBetween = (from: string, to: string): string =>
  `timestampdiff(microsecond, ${from}, ${to}) / 1000`;
