import { isDate } from 'node:util/types';

/** ISO 8601, as JavaScript and PostgreSQL both read it. */
const shape =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d{2})(?::?(\d{2}))?)?)?$/i;

/** The years that four digits, JavaScript and every PostgreSQL have in common. */
const first = Date.parse('0001-01-01T00:00:00.000Z');
const last = Date.parse('9999-12-31T23:59:59.999Z');
/** PostgreSQL refuses zones further from UTC. */
const furthestZone = 15;

/** Which parts a text may leave out. */
export interface InstantRules {
  /** Without a zone JavaScript and PostgreSQL would read it differently. */
  readonly zone: 'required' | 'optional';
}

/**
 * The time that a text names; undefined for text other than ISO 8601, for days and times that no calendar has (JavaScript makes
 * March of February 30th, PostgreSQL refuses it), and outside of the years 1 to 9999.
 */
export function parseInstant(text: string, { zone }: InstantRules): Date | undefined {
  const [
    whole,
    year,
    month,
    day,
    hour = '',
    minute = '',
    second = '00',
    fraction = '0',
    utc,
    sign,
    ...offset
  ] = shape.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const [zoneHour = '00', zoneMinute = '00'] = offset;
  const hasZone = utc !== undefined || sign !== undefined;
  if (zone === 'required' && !hasZone) return undefined;
  if (!isDay(Number(year), Number(month), Number(day))) return undefined;
  if (Number(zoneHour) > furthestZone || Number(zoneMinute) > 59) return undefined;
  const clock = `${hour}:${minute}:${second}.${fraction.slice(0, 3)}`;
  const shift = sign === undefined ? (hasZone ? 'Z' : '') : `${sign}${zoneHour}:${zoneMinute}`;
  // The rest of what JavaScript reads, PostgreSQL reads as well.
  return withinYears(new Date(`${year}-${month}-${day}${hour === '' ? '' : `T${clock}${shift}`}`));
}

/** A copy of a Date, whatever has been done to its methods; undefined for anything else, and outside of the years 1 to 9999. */
export function readInstant(value: unknown): Date | undefined {
  return isDate(value) ? withinYears(new Date(Date.prototype.getTime.call(value))) : undefined;
}

function withinYears(date: Date): Date | undefined {
  const time = date.getTime();
  return time >= first && time <= last ? date : undefined;
}

function isDay(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  // Day 0 is the last one of the month before; in a leap year of four hundred years the weekdays are the same.
  return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}
