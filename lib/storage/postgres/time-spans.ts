/** Some 300 years: what is further away, such as `infinity`, counts as that far. */
const furthestSeconds = '1e10';

/**
 * SQL of the ms from one time to another; null when one of them is. Not their difference, which PostgreSQL before 17
 * refuses for infinite ones, and which later ones say is infinite.
 */
export const msBetween = (from: string, to: string): string =>
  `((${secondsOf(to)} - ${secondsOf(from)}) * 1000)::float8`;

/** `greatest` and `least` would make a time of null. */
const secondsOf = (time: string): string =>
  `case when ${time} is not null then greatest(-${furthestSeconds}, least(${furthestSeconds}, extract(epoch from ${time}))) end`;
