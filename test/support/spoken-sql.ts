import { escape } from 'mysql2';

/** The text for MySQL and MariaDB, its values in it, and the columns that its rows shall be read back by. */
export interface SpokenSql {
  readonly sql: string;
  /** Of `returning`, which MySQL does not have. */
  readonly returning: { readonly table: string; readonly columns: string } | undefined;
}

/**
 * Says in the words of MySQL and MariaDB what the tests say to PostgreSQL: placeholders, times, casts, a few words. It knows no
 * grammar; what it cannot say is refused by the server, and such a test is PostgreSQL's own. The session joins text by `||`.
 */
export function speakMysql(text: string, values: readonly unknown[] = []): SpokenSql {
  const literals: string[] = [];
  const masked = sayNames(text)
    .replace(/'((?:[^']|'')*)'/g, (_, inside: string) =>
      mark(literals.push(inside.replaceAll("''", "'")) - 1),
    )
    .trim();
  const returned = /^insert into (\S+)[\s\S]* returning ([^;]+)$/i.exec(masked);
  const said = rules.reduce(
    (before, [pattern, words]) => before.replace(pattern, words),
    sayIntervals(returned ? masked.replace(/ returning [^;]+$/i, '') : masked, literals),
  );
  const sql = said
    .replace(/\bin \(\$(\d+)\)/g, (_, n: string) => `in (${list(values[Number(n) - 1])})`)
    .replace(/\$(\d+)/g, (_, n: string) => sayValue(values[Number(n) - 1]))
    .replace(/‹(\d+)›/g, (_, n: string) => escape(literals[Number(n)]));
  const [, table, columns] = returned ?? [];
  return {
    sql,
    returning: table === undefined ? undefined : { table, columns: sayColumns(columns ?? 'id') },
  };
}

/** What is named by a literal on PostgreSQL. */
function sayNames(text: string): string {
  return (
    text
      // There are no sequences.
      .replace(/select setval\('(\w+?)_id_seq', (\w+)\)/gi, 'alter table $1 auto_increment = $2')
      .replace(/alter sequence (\w+?)_id_seq restart with (\d+)/gi, 'alter table $1 auto_increment = $2')
      // Nobody listens: workers look by themselves.
      .replace(/;\s*notify \w+, '[^']*'/gi, '')
  );
}

const mark = (n: number): string => `‹${n}›`;

type Words = (...groups: string[]) => string;

/** Applied in this order, to texts whose literals are marked. */
const rules: readonly (readonly [RegExp, Words])[] = [
  [/(=) any\s?\(\$(\d+)(?:::\w+\[\])?\)/gi, (_, __, n) => `in ($${n})`],
  [/(\$\d+|null|‹\d+›)::\w+(?:\[\])?/gi, (_, value) => value ?? ''],
  // An expression of that type is read as a number; a count is text.
  [/::(?:int|integer|float8)\b/gi, () => ' + 0e0'],
  [/::(?:text|bigint)\b/gi, () => ''],
  [/\b(?:now|clock_timestamp)\(\)/gi, () => 'utc_timestamp(6)'],
  [/\bselect from\b/gi, () => 'select 1 from'],
  [/\bfor no key update\b/gi, () => 'for update'],
  [/\bis not distinct from\b/gi, () => '<=>'],
  [/\blength\(/gi, () => 'char_length('],
  [/\boctet_char_length\(/gi, () => 'length('],
  [/\btimestamptz\b/gi, () => 'datetime(6)'],
  [/\btext primary key\b/gi, () => 'varchar(200) primary key'],
  [
    /\bbegin isolation level ([a-z ]+)/gi,
    (_, level) => `set transaction isolation level ${level}; start transaction`,
  ],
  [/^begin\b/gi, () => 'start transaction'],
  [/\block table (\w+) in [a-z ]+ mode/gi, (_, table) => `lock tables ${table} write`],
  [/^(rollback|commit)$/gi, (_, end) => `${end}; unlock tables`],
  [/\bpg_backend_pid\(\)/gi, () => 'connection_id()'],
  [/\bpg_sleep\(/gi, () => 'sleep('],
  [/\btruncate ([\w., ]+?) restart identity/gi, (_, tables) => eachTable('truncate table', tables)],
  [/\btruncate (?!table)([\w., ]+)/gi, (_, tables) => eachTable('delete from', tables)],
  [
    /\bgenerate_series\(([^,()]+), ([^()]+)\)(?: as)?(?: (\w+)(?![\w(]))?/gi,
    (_, first, last, name = 'generate_series') =>
      `(select n - 1 + ${first} as ${name} from json_table(concat('[1', repeat(',1', ${last} - ${first}), ']'), '$[*]' columns (n for ordinality)) every) ${name}`,
  ],
];

const eachTable = (verb: string, tables = ''): string =>
  tables
    .split(',')
    .map((table) => `${verb} ${table.trim()}`)
    .join('; ');

/** `interval '2 hours'`, and several of them. */
function sayIntervals(text: string, literals: readonly string[]): string {
  const factor = String.raw`(\$\d+(?:::\w+)?|\w+|\([^()]*\))`;
  const say = (n: string, times = '1'): string => {
    const [, amount = '', unit = ''] = /^(-?[\d.]+) (\w+?)s?$/.exec(literals[Number(n)] ?? '') ?? [];
    const microseconds = microsecondsOf[unit];
    if (microseconds === undefined) throw new Error(`not an interval: ${literals[Number(n)]}`);
    const whole = Number(amount) * microseconds;
    return times === '1'
      ? `interval ${whole} microsecond`
      : `interval (${times.replace(/::\w+/, '')}) * ${whole} microsecond`;
  };
  return text
    .replace(new RegExp(`${factor} \\* interval ‹(\\d+)›`, 'gi'), (_, times: string, n: string) =>
      say(n, times),
    )
    .replace(new RegExp(`interval ‹(\\d+)› \\* ${factor}`, 'gi'), (_, n: string, times: string) =>
      say(n, times),
    )
    .replace(/interval ‹(\d+)›/gi, (_, n: string) => say(n));
}

const microsecondsOf: Readonly<Record<string, number>> = {
  microsecond: 1,
  millisecond: 1_000,
  ms: 1_000,
  second: 1_000_000,
  s: 1_000_000,
  minute: 60_000_000,
  hour: 3_600_000_000,
  day: 86_400_000_000,
};

function sayColumns(columns: string): string {
  return columns.replace(/::\w+/g, '');
}

function list(value: unknown): string {
  if (!Array.isArray(value)) return sayValue(value);
  return value.length === 0 ? 'null' : value.map(sayValue).join(', ');
}

/** Times are sent in UTC, as the columns have them. */
function sayValue(value: unknown): string {
  if (typeof value === 'string') return escape(isoTime.test(value) ? timeText(value) : value);
  if (value instanceof Date) return escape(timeText(value.toISOString()));
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value))
    return escape((value ?? null) as Buffer | number | bigint | boolean | null);
  return escape(JSON.stringify(value));
}

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

function timeText(iso: string): string {
  return iso.replace('T', ' ').replace('Z', '');
}
