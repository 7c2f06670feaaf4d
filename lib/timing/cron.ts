/** What a cron expression says, as sets of numbers. */
export interface CronFields {
  readonly second: ReadonlySet<number>;
  readonly minute: ReadonlySet<number>;
  readonly hour: ReadonlySet<number>;
  readonly day: ReadonlySet<number>;
  /** From 1. */
  readonly month: ReadonlySet<number>;
  /** From 0, which is Sunday. */
  readonly weekday: ReadonlySet<number>;
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

interface FieldRange {
  readonly name: keyof CronFields;
  readonly least: number;
  readonly most: number;
  /** What the numbers from the least on are called. */
  readonly names?: readonly string[];
}

const ranges: readonly FieldRange[] = [
  { name: 'second', least: 0, most: 59 },
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, names: monthNames },
  { name: 'weekday', least: 0, most: 7, names: weekdayNames },
];

/** The same as those of the package `cron`, which `@Cron` of `@nestjs/schedule` uses. */
const presets: Readonly<Record<string, string>> = {
  '@yearly': '0 0 0 1 1 *',
  '@monthly': '0 0 0 1 * *',
  '@weekly': '0 0 0 * * 0',
  '@daily': '0 0 0 * * *',
  '@hourly': '0 0 * * * *',
  '@minutely': '0 * * * * *',
  '@secondly': '* * * * * *',
  '@weekdays': '0 0 0 * * 1-5',
  '@weekends': '0 0 0 * * 0,6',
};

/**
 * Reads a cron expression of five fields, or of six that begin with the second, in the dialect of the package `cron`.
 *
 * @throws {Error} that says what is wrong with it
 */
export function parseCron(expression: string): CronFields {
  const text = expression.trim().toLowerCase();
  const fields = (presets[text] ?? text).split(/\s+/);
  if (fields.length !== 5 && fields.length !== 6) {
    throw new Error(`needs five fields, or six with the second, but has ${text === '' ? 0 : fields.length}`);
  }
  const all = fields.length === 5 ? ['0', ...fields] : fields;
  const sets = ranges.map((range, index) => [range.name, readField(all[index] ?? '', range)] as const);
  const read = Object.fromEntries(sets) as Record<keyof CronFields, ReadonlySet<number>>;
  // Sunday has two numbers.
  return { ...read, weekday: new Set([...read.weekday].map((day) => day % 7)) };
}

function readField(field: string, range: FieldRange): ReadonlySet<number> {
  return new Set(field.split(',').flatMap((part) => readPart(part, field, range)));
}

/** `*`, `5`, `5-9`, each perhaps with `/2`; a number with a step goes on to the greatest. */
function readPart(part: string, field: string, { name, least, most, names = [] }: FieldRange): number[] {
  const numbered = part.replace(/[a-z]+/g, (word) => {
    const index = names.indexOf(word);
    return index === -1 ? word : String(index + least);
  });
  const [, any, from, to, stepText] =
    /^(?:(\*)|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(numbered) ?? [];
  if (any === undefined && from === undefined) throw new Error(`has ${JSON.stringify(field)} as its ${name}`);
  const first = from === undefined ? least : Number(from);
  const last = to === undefined ? (any === undefined && stepText === undefined ? first : most) : Number(to);
  const step = stepText === undefined ? 1 : Number(stepText);
  if (first < least || last > most || last < first || step === 0) {
    throw new Error(`has ${JSON.stringify(field)} as its ${name}, which goes from ${least} to ${most}`);
  }
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, index) => first + index * step);
}

/** February 29th may take that long, over the first year of a century. */
const mostYears = 8;

/** The first second after a time at which all fields hold, both as if clocks showed UTC, in ms; undefined when there is none. */
export function nextMatch(fields: CronFields, afterMs: number): number | undefined {
  const date = new Date(Math.floor(afterMs / 1_000) * 1_000 + 1_000);
  const lastYear = date.getUTCFullYear() + mostYears;
  while (date.getUTCFullYear() <= lastYear) {
    if (!fields.month.has(date.getUTCMonth() + 1)) {
      date.setUTCMonth(date.getUTCMonth() + 1, 1);
      date.setUTCHours(0, 0, 0);
    } else if (!isDay(fields, date)) {
      date.setUTCDate(date.getUTCDate() + 1);
      date.setUTCHours(0, 0, 0);
    } else if (!fields.hour.has(date.getUTCHours())) date.setUTCHours(date.getUTCHours() + 1, 0, 0);
    else if (!fields.minute.has(date.getUTCMinutes())) date.setUTCMinutes(date.getUTCMinutes() + 1, 0);
    else if (!fields.second.has(date.getUTCSeconds())) date.setUTCSeconds(date.getUTCSeconds() + 1);
    else return date.getTime();
  }
  return undefined;
}

/** Where both a day and a weekday are given, either is enough. */
function isDay({ day, weekday }: CronFields, date: Date): boolean {
  const [isGivenDay, isGivenWeekday] = [day.has(date.getUTCDate()), weekday.has(date.getUTCDay())];
  return day.size < 31 && weekday.size < 7 ? isGivenDay || isGivenWeekday : isGivenDay && isGivenWeekday;
}
