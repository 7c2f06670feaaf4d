import { sqlMoment, sqlTime } from '../sql-time.js';

/** Years that these servers have. */
const [firstYear, lastYear] = [1, 9999];

/** Any time in ISO 8601, as the server takes it; what lies beyond the times that it has becomes the first or the last of them. */
export function momentOf(iso: string): string {
  const date = new Date(iso);
  if (date.getUTCFullYear() > lastYear) return '9999-12-31 23:59:59.999999';
  if (date.getUTCFullYear() < firstYear) return '0001-01-01 00:00:00';
  // As it is, where that can be: a date has no microseconds.
  return iso.endsWith('Z') ? sqlTime(iso) : sqlMoment(date);
}
