/** What MySQL or MariaDB have and the documentation of SingleStore does not, and where it says so. */
interface Undocumented {
  readonly construct: string;
  readonly pattern: RegExp;
  readonly example: string;
}

const shardKey = /\n {2}shard key \((\w+)\)/;

/**
 * From excerpts of docs.singlestore.com (versions 7.1 to 10) that a search found in stored copies in November 2026; the site itself
 * was out of reach. What is named there as lacking, or left out of a grammar: "Unsupported MySQL Features", "Distributed SQL Surface
 * Area", SELECT, INSERT, CREATE TABLE, LAST_INSERT_ID, "Durability" on levels of isolation. Savepoints, named locks, RETURNING of an
 * INSERT, MySQL's functions of JSON, and a WHERE without a table stand here because no page was found that has them, which proves
 * little.
 */
export const undocumented: readonly Undocumented[] = [
  // SELECT ends with FOR UPDATE and nothing else.
  {
    construct: 'SKIP LOCKED',
    pattern: /\bskip locked\b/i,
    example: 'select 1 from t for update skip locked',
  },
  { construct: 'NOWAIT', pattern: /\bfor update nowait\b/i, example: 'select 1 from t for update nowait' },
  { construct: 'FOR SHARE', pattern: /\bfor share\b/i, example: 'select 1 from t for share' },
  {
    construct: 'LOCK IN SHARE MODE',
    pattern: /\block in share mode\b/i,
    example: 'select 1 from t lock in share mode',
  },
  { construct: 'index hints', pattern: /\bforce index\b/i, example: 'select 1 from t force index (primary)' },
  { construct: 'STRAIGHT_JOIN', pattern: /\bstraight_join\b/i, example: 'select 1 from a straight_join b' },
  {
    construct: 'triggers',
    pattern: /\btriggers?\b/i,
    example: 'create trigger one before insert on t for each row',
  },
  {
    construct: 'named locks',
    pattern: /\b(?:get_lock|is_used_lock|is_free_lock|release_lock|release_all_locks)\(/i,
    example: "select get_lock('one', 0)",
  },
  { construct: 'savepoints', pattern: /\bsavepoint\b/i, example: 'rollback to savepoint one' },
  { construct: 'RETURNING', pattern: /\breturning\b/i, example: 'insert into t values (1) returning id' },
  {
    construct: 'foreign keys',
    pattern: /\b(?:foreign key|references)\b/i,
    example: 'create table t (a int references b (id))',
  },
  { construct: 'checks', pattern: /^create.*\bcheck \(/ims, example: 'create table t (a int check (a = 1))' },
  {
    construct: 'generated columns',
    pattern: /\) (?:stored|virtual)\b|\bgenerated always\b/i,
    example: 'create table t (a int, b int as (a + 1) stored)',
  },
  {
    construct: 'defaults that are calculated',
    pattern: /\bdefault \(/i,
    example: 'create table t (a datetime(6) default (utc_timestamp(6)))',
  },
  {
    construct: 'engines',
    pattern: /\bengine = |\brow_format\b/i,
    example: 'create table t (a int) engine = InnoDB',
  },
  {
    construct: "InnoDB's tables and variables",
    pattern: /\binnodb_/i,
    example: 'select 1 from information_schema.innodb_trx',
  },
  // It has functions of its own for that: JSON_BUILD_OBJECT, JSON_AGG, TO_JSON, JSON_TO_ARRAY and others.
  {
    construct: "MySQL's functions of JSON",
    pattern:
      /\bjson_(?:table|object|array|arrayagg|objectagg|quote|unquote|valid|extract|set|contains|value)\(/i,
    example: "select * from json_table('[]', '$[*]' columns (id int path '$')) j",
  },
  {
    construct: 'zones of sessions',
    pattern: /\bset (?:session )?time_zone\b/i,
    example: "set session time_zone = '+00:00'",
  },
  {
    construct: 'levels of isolation',
    pattern: /\bisolation level\b/i,
    example: 'set session transaction isolation level read committed',
  },
  {
    construct: 'comments that MySQL or MariaDB run',
    pattern: /\/\*M?!/,
    example: 'select 1 from /*M! information_schema. */processlist',
  },
  {
    construct: 'UPDATE with LIMIT, on a table that is divided',
    pattern: /^(?:--[^\n]*\n)?\s*update\b(?:(?!\bset\b|;).)*\bset\b(?:(?!\bselect\b|;).)*\blimit\b/ims,
    example: 'update t set a = 1 order by id limit 1',
  },
  // Constants, and functions that are given nothing, as clocks are.
  {
    construct: 'values of an INSERT that are calculated',
    pattern:
      /^(?:--[^\n]*\n)?\s*insert\b[^;]*\bvalues \((?:[^()']|'[^']*'|\butc_timestamp\(6\))*\b(?!utc_timestamp\(6\))\w+\((?!\))/ims,
    example: 'insert into t (a) values (coalesce(?, 1))',
  },
  {
    construct: 'a WHERE without a table',
    pattern: /\bselect (?:(?!\bfrom\b|\bunion\b|[();]).)*\bwhere\b/is,
    example: 'select 1 where 1 = 0',
  },
];

/** Why a text cannot be sent to SingleStore by its documentation; undefined when nothing speaks against it. */
export function undocumentedIn(text: string): string | undefined {
  const plain = text.replaceAll(/--[^\n]*/g, '').replaceAll(/'(?:[^'\\]|\\.|'')*'/g, "''");
  const found = undocumented.find(({ pattern }) => pattern.test(plain));
  if (found) return found.construct;
  return plain.startsWith('create rowstore table') ? keyProblem(plain) : undefined;
}

/** The key that divides rows over partitions is the primary one unless it is named, and every unique key has its columns. */
function keyProblem(text: string): string | undefined {
  const primary =
    /^ {2}(\w+) .*\bprimary key\b/m.exec(text)?.[1] ?? /^ {2}primary key \(([^()]+)\)/m.exec(text)?.[1];
  const shard = shardKey.exec(text)?.[1] ?? primary;
  if (shard === undefined) return 'a table without a key';
  const unique = [...text.matchAll(/\bunique(?: key| index)?(?: \w+)? \(([^()]+)\)/g)].map(
    ([, on]) => on ?? '',
  );
  const isWhole = [primary ?? '', ...unique].every((on) =>
    shard.split(', ').every((column) => on.split(', ').includes(column)),
  );
  return isWhole ? undefined : 'a unique key without the columns of the shard key';
}
