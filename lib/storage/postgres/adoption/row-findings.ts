import type { SqlHandle } from '../../sql-handle.js';
import { statusTexts } from '../../columns.js';
import { copyDistance } from './assign-rounds.js';
import { findDuplicates, type Duplicates } from './duplicates.js';
import { counted, type Finding } from './finding.js';
import type { NsjTable } from './nsj-table.js';

/** How many rows have each status; null for rows without one. */
export interface StatusCount {
  readonly status: string | null;
  readonly count: number;
}

/** Counts of the rows by their state. */
export interface RowReport {
  readonly statuses: readonly StatusCount[];
  readonly findings: readonly Finding[];
}

/** How rows are to be looked at. */
export interface RowQuestions {
  readonly maxPayloadBytes: number;
  /** True when abandoned attempts are to run again. */
  readonly giveBack: boolean;
}

const unfinished = `f.status in ('pendente', 'agendada', 'processando')`;
const knownStatuses: ReadonlySet<string> = new Set(
  (['scheduled', 'pending', 'processing', 'succeeded', 'failed'] as const).flatMap(statusTexts),
);

/** Reads all rows, once per question. Payloads are measured, not read. */
export async function readRows(
  sql: SqlHandle,
  { survey, hasPriority }: NsjTable,
  { maxPayloadBytes, giveBack }: RowQuestions,
): Promise<RowReport> {
  const { queue } = survey.tables;
  const one = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>> =>
    (await sql.query(text, values)).rows[0] ?? {};
  const { rows } = await sql.query(
    `select f.status::text as status, count(*)::float8 as count from ${queue} f group by 1 order by 2 desc, 1`,
  );
  const statuses = rows.map((row) => ({
    status: row['status'] as string | null,
    count: Number(row['count']),
  }));
  const payloads = await one(
    `select count(*) filter (where octet_length(coalesce(f.payload, first.payload)) > $1::int)::float8 as large,
       max(octet_length(coalesce(f.payload, first.payload))) as largest,
       count(*) filter (where f.payload is null and f.id_inicial is not null and first.id is null)::float8 as lost
     from ${queue} f left join ${queue} first on first.id = f.id_inicial
     where ${unfinished}`,
    [maxPayloadBytes],
  );
  const incomplete = await one(
    `select count(*) filter (where f.status is null or f.data_hora is null)::float8 as never,
       count(*) filter (where f.data_hora is not null and f.tentativa is null)::float8 as unnumbered,
       ${hasPriority ? 'count(*) filter (where f.prioridade is null)::float8' : '0'} as unprioritised
     from ${queue} f where f.status is null or ${unfinished}`,
  );
  const later = await one(
    `select count(*)::float8 as count from ${queue} f where f.status = 'pendente' and f.data_hora > clock_timestamp()`,
  );
  const running = await one(
    `select count(*) filter (where l.pid is not null)::float8 as locked, count(*) filter (where l.pid is null)::float8 as free
     from ${queue} f
     left join (
       select (classid::bigint << 32) | objid::bigint as id, min(pid) as pid from pg_locks
       where locktype = 'advisory' and objsubid = 1 and granted
         and database = (select oid from pg_database where datname = current_database())
       group by 1
     ) l on l.id = f.id
     where f.status = 'processando' ${survey.found.queueColumns.has('executor') ? 'and f.executor is null' : ''}`,
  );
  const crashed = statuses.find(({ status }) => status === 'falha_processando')?.count ?? 0;
  const unknown = statuses.filter(({ status }) => status !== null && !knownStatuses.has(status));
  const duplicates = await findDuplicates(sql, queue, survey.found.queueColumns.has('rodada'));
  const findings = [
    ...duplicates.map(describeDuplicates),
    ...describePayloads(payloads, maxPayloadBytes),
    ...describeIncomplete(incomplete),
    ...describeLater(Number(later['count'])),
    ...describeRunning(Number(running['locked']), Number(running['free']), giveBack),
    ...describeStatuses(crashed, unknown),
  ];
  return { statuses, findings };
}

function describeDuplicates({ kind, count, examples }: Duplicates): Finding {
  const what = {
    successors: `${counted(count, 'attempt was', 'attempts were')} followed by more than one next attempt`,
    'dead-chains': `${counted(count, 'dead chain exists', 'dead chains exist')} beside another one of the same task`,
    deliveries: `${counted(count, 'delivery exists', 'deliveries exist')} beside another one of the same publication and subscription`,
  }[kind];
  return {
    kind: `duplicate-${kind}`,
    weight: 'warning',
    count,
    what: `${what}: two workers ran one attempt at once`,
    then: `kept, and told apart: the first stays as it is; each later one, with all that follows from it, gets its own number in rodada (${copyDistance}, ${2 * copyDistance}, …) and continues on its own`,
    examples,
  };
}

function describePayloads(row: Record<string, unknown>, limit: number): readonly Finding[] {
  const [large, lost] = [Number(row['large']), Number(row['lost'])];
  const findings: Finding[] = [];
  if (large > 0) {
    findings.push({
      kind: 'large-payloads',
      weight: 'warning',
      count: large,
      what: `${counted(large, 'unfinished attempt has', 'unfinished attempts have')} a payload of more than ${limit.toLocaleString('en-US')} bytes, the largest ${Number(row['largest']).toLocaleString('en-US')}`,
      then: 'they fail until maxPayloadBytes is raised; nothing is cut',
    });
  }
  if (lost > 0) {
    findings.push({
      kind: 'lost-payloads',
      weight: 'warning',
      count: lost,
      what: `${counted(lost, 'unfinished attempt')} of a task whose first attempt, which held the payload, was purged`,
      then: 'they run without a payload, as they would have before',
    });
  }
  return findings;
}

function describeIncomplete(row: Record<string, unknown>): readonly Finding[] {
  const [never, unnumbered, unprioritised] = ['never', 'unnumbered', 'unprioritised'].map((name) =>
    Number(row[name]),
  ) as [number, number, number];
  const findings: Finding[] = [];
  if (never > 0) {
    findings.push({
      kind: 'incomplete-rows',
      weight: 'warning',
      count: never,
      what: `${counted(never, 'row')} without status or time`,
      then: 'no worker takes them, as before; set both to have them run',
    });
  }
  if (unnumbered > 0) {
    findings.push({
      kind: 'unnumbered-attempts',
      weight: 'warning',
      count: unnumbered,
      what: `${counted(unnumbered, 'unfinished attempt')} without a number (tentativa)`,
      then: 'workers of nsj-queue-lib left them; here they run as first attempts. Delete those that should not',
    });
  }
  if (unprioritised > 0) {
    findings.push({
      kind: 'no-priority',
      weight: 'note',
      count: unprioritised,
      what: `${counted(unprioritised, 'unfinished attempt')} without a priority`,
      then: 'they get 50, the default',
    });
  }
  return findings;
}

function describeLater(later: number): readonly Finding[] {
  if (later === 0) return [];
  return [
    {
      kind: 'for-later',
      weight: 'note',
      count: later,
      what: `${counted(later, 'task is', 'tasks are')} pendente and due later`,
      then: 'they become agendada, as will those that are inserted from then on. The first worker of this library starts them on time; until it runs, workers of nsj-queue-lib start them at their notify minutes',
    },
  ];
}

function describeRunning(locked: number, free: number, giveBack: boolean): readonly Finding[] {
  const findings: Finding[] = [];
  if (locked > 0) {
    findings.push({
      kind: 'running',
      weight: 'warning',
      count: locked,
      what: `${counted(locked, 'attempt is', 'attempts are')} running now: workers of nsj-queue-lib are at work`,
      then: `left to them. Stop them before workers of this library start, or give these interop: 'nsj'`,
    });
  }
  if (free > 0) {
    findings.push({
      kind: 'abandoned',
      weight: 'warning',
      count: free,
      what: `${counted(free, 'attempt is', 'attempts are')} processando, and no session holds the lock of the task: the worker was killed`,
      then: giveBack
        ? 'they become pendente again and run once more'
        : `left as they are: workers with interop: 'nsj' recover them; without it, pass --give-back to have them run once more (not while workers in client-server mode are running, whose locks are elsewhere)`,
    });
  }
  return findings;
}

function describeStatuses(crashed: number, unknown: readonly StatusCount[]): readonly Finding[] {
  const findings: Finding[] = unknown.map(({ status, count }) => ({
    kind: 'unknown-status',
    weight: 'warning',
    count,
    what: `${counted(count, 'row has', 'rows have')} the status ${JSON.stringify(status)}, which this version does not recognise`,
    then: 'they stay, no worker takes them, and the administration cannot show them',
  }));
  if (crashed > 0) {
    findings.push({
      kind: 'crashed',
      weight: 'note',
      count: crashed,
      what: `${counted(crashed, 'row has', 'rows have')} the status falha_processando: the worker was killed`,
      then: 'they stay, and are read as failed everywhere',
    });
  }
  return findings;
}
