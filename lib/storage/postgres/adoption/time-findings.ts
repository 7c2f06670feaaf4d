import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import { describeBytes, rewriteSeconds } from './durations.js';
import { counted, type Finding } from './finding.js';
import type { NsjTable } from './nsj-table.js';

/** Zones in which a time without zone and one with it are stored alike: nothing is rewritten. */
const sameBytes = new Set([
  'utc',
  'etc/utc',
  'etc/uct',
  'uct',
  'zulu',
  'etc/zulu',
  'universal',
  'etc/universal',
]);

/** True when times without zone need no rewriting: from PostgreSQL 12 on, in a session whose zone is UTC. */
export function isStoredAlike(zone: string): boolean {
  return sameBytes.has(zone.toLowerCase());
}

/**
 * The zone as the server spells it.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export async function readZone(sql: SqlHandle, name: string): Promise<string> {
  const { rows } = await sql.query(
    'select name from pg_timezone_names where lower(name) = lower($1::text) limit 1',
    [name],
  );
  const zone = rows[0]?.['name'];
  if (typeof zone === 'string') return zone;
  throw new TarefaError(
    'INPUT_INVALID',
    `${JSON.stringify(name)} is not a time zone of this server: give a name from pg_timezone_names, such as UTC or America/Sao_Paulo`,
  );
}

/** Findings about times without zone. */
export async function readTimes(
  sql: SqlHandle,
  table: NsjTable,
  zone: string | undefined,
): Promise<readonly Finding[]> {
  const columns = [...table.zoneless, ...table.zonelessSubscriptions];
  if (columns.length === 0) {
    if (zone === undefined) return [];
    return [
      {
        kind: 'zone-not-needed',
        weight: 'note',
        what: 'all times already have a zone',
        then: '--time-zone changes nothing',
      },
    ];
  }
  const what = `${columns.join(', ')} ${columns.length === 1 ? 'is' : 'are'} stored without time zone`;
  const views = viewFindings(table);
  if (zone === undefined) {
    const { rows } = await sql.query(`select current_setting('TimeZone') as zone`);
    return [
      {
        kind: 'zone-needed',
        weight: 'obstacle',
        what,
        then: `they become timestamptz, so --time-zone must say which zone they are in: the TimeZone of the programs that wrote them (the one of this session is ${String(rows[0]?.['zone'])})`,
      },
      ...views,
    ];
  }
  return [
    {
      kind: 'conversion',
      weight: 'note',
      what,
      then: `they become timestamptz, read as ${zone}. ${costOf(table, zone)} Times that programs still send without a zone are read in the TimeZone of their session`,
    },
    ...(await zoneFindings(sql, table, zone)),
    ...views,
  ];
}

/** How long the table is locked. */
function costOf({ totalBytes, oldIndexes }: NsjTable, zone: string): string {
  if (!isStoredAlike(zone)) {
    return `That rewrites the table under an exclusive lock: ${describeBytes(totalBytes)}, about ${counted(rewriteSeconds(totalBytes), 'second')} in which the table cannot be read or written.`;
  }
  if (oldIndexes.length === 0) return 'No row is rewritten.';
  return `No row is rewritten, but the old indexes with times in them are rebuilt under an exclusive lock, about ${counted(rewriteSeconds(totalBytes / 5), 'second')}; with --drop-old-indexes they are dropped first.`;
}

/** Attempts that ended before they were due show that the zone is wrong. */
async function zoneFindings(
  sql: SqlHandle,
  { survey, zoneless }: NsjTable,
  zone: string,
): Promise<readonly Finding[]> {
  if (!zoneless.includes('data_hora')) return [];
  const { rows } = await sql.query(
    `select count(*)::int as ended, count(*) filter (where f.due > now() + interval '1 minute')::int as early,
       extract(epoch from max(f.due) - now())::float8 as seconds
     from (
       select f.data_hora at time zone $1::text as due from ${survey.tables.queue} f
       where f.status in ('sucesso', 'falha', 'falha_processando') order by f.id desc limit 20
     ) f`,
    [zone],
  );
  const [ended, early, seconds] = ['ended', 'early', 'seconds'].map((name) => Number(rows[0]?.[name])) as [
    number,
    number,
    number,
  ];
  if (ended === 0) return [];
  if (early * 2 >= ended) {
    return [
      {
        kind: 'wrong-zone',
        weight: 'obstacle',
        count: early,
        what: `of the last ${counted(ended, 'finished attempt')}, ${early} would be due only in the future, up to ${(seconds / 3_600).toFixed(1)} hours from now, if their times were in ${zone}`,
        then: 'they are in another zone: pass that one',
      },
    ];
  }
  return [
    {
      kind: 'zone-seen',
      weight: 'note',
      what: `in ${zone} the newest of the last finished attempts was due ${describeAgo(-seconds)}`,
      then: 'if that cannot be right, pass another zone',
    },
  ];
}

function viewFindings({ views }: NsjTable): readonly Finding[] {
  if (views.length === 0) return [];
  return [
    {
      kind: 'views',
      weight: 'obstacle',
      count: views.length,
      what: 'views depend on these times',
      then: 'PostgreSQL cannot convert a column that a view uses: drop them, adopt, and create them again',
      examples: views.map(({ name, column }) => `${name} (${column})`),
    },
  ];
}

function describeAgo(seconds: number): string {
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes ago`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)} hours ago`
    : `${Math.round(seconds / 86_400)} days ago`;
}
