import type { JsonObject, StoredStatus, TaskRecord, TaskState, TaskStatus } from '../task.js';
import { unreadableColumns } from './unreadable.js';

/**
 * The table's names for the statuses: the only place that maps them. They are a contract, so a cancelled attempt is a failed
 * one there, told apart by a column of the library's own: {@link isCancelled}.
 */
export const statusColumn = {
  scheduled: 'agendada',
  pending: 'pendente',
  processing: 'processando',
  succeeded: 'sucesso',
  failed: 'falha',
} as const satisfies Record<StatusOfColumn, string>;

type StatusOfColumn = Exclude<TaskStatus, 'cancelled'>;

const statusByColumn = new Map<string, StatusOfColumn>(
  Object.entries(statusColumn).map(([status, column]) => [column, status as StatusOfColumn]),
);
// Written by old nsj-queue-lib workers for an attempt whose worker crashed.
statusByColumn.set('falha_processando', 'failed');

/** Every status. */
export const taskStatuses: readonly TaskStatus[] = [
  ...(Object.keys(statusColumn) as StatusOfColumn[]),
  'cancelled',
];

/** Everything that may be asked for by name, in the order of a task's life. */
export const taskStates = [
  'scheduled',
  'retrying',
  'pending',
  'processing',
  'succeeded',
  'failed',
  'cancelled',
] as const;

type StateName = (typeof taskStates)[number];

/** That an attempt follows one that failed: the number of a first attempt is 1. */
const hasFailedBefore = (row: string): string => `coalesce(${row}.tentativa, 1) > 1`;

/** SQL that is true of failed attempts that were cancelled. */
export const isCancelled = (row: string): string => `${row}.cancelada_por is not null`;

/**
 * SQL that is true of attempts in one of these states. Statuses are literals, so that the planner can use the partial indexes.
 */
export function stateCondition(row: string, states: readonly StateName[]): string {
  const statuses = states.flatMap((state) => statusTexts(state === 'retrying' ? 'scheduled' : state));
  const list = quoted([...new Set(statuses)]) || 'null';
  /** Of two states that have one status: which of them it is. */
  const apart = (state: StateName, other: StateName, isOther: string): string => {
    if (states.includes(state) === states.includes(other)) return '';
    const statusesOfBoth = quoted(statusTexts(state as StatusOfColumn));
    const isMeant = states.includes(other) ? isOther : `not (${isOther})`;
    return ` and (${row}.status not in (${statusesOfBoth}) or ${isMeant})`;
  };
  return (
    `${row}.status in (${list})` +
    apart('scheduled', 'retrying', hasFailedBefore(row)) +
    apart('failed', 'cancelled', isCancelled(row))
  );
}

/** SQL that is true of attempts with one of these statuses: `scheduled` is any that is scheduled. */
export function statusCondition(row: string, statuses: readonly TaskStatus[]): string {
  const states = statuses.flatMap((status): readonly StateName[] =>
    status === 'scheduled' ? ['scheduled', 'retrying'] : [status],
  );
  return stateCondition(row, states);
}

function quoted(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ');
}

/** SQL that is true of the last attempt of a task that gave up: it ran out of attempts, or was buried. */
export function isBuried(row: string): string {
  return `(${row}.estouro_tentativas and ${row}.reenfileirado is not true and not ${row}.dead and ${row}.status in (${quoted(statusTexts('failed'))}))`;
}

/** SQL of a {@link TaskState} in English; what another program wrote stands for itself. */
export function stateSql(row: string): string {
  const retrying = `when ${row}.status = '${statusColumn.scheduled}' and ${hasFailedBefore(row)} then 'retrying'`;
  const cancelled = `when ${row}.status in (${quoted(statusTexts('failed'))}) and ${isCancelled(row)} then 'cancelled'`;
  const others = [...statusByColumn].map(
    ([text, status]) => `when ${row}.status = '${text}' then '${status}'`,
  );
  return `case ${[retrying, cancelled, ...others].join('\n    ')}\n    else ${row}.status end`;
}

/** SQL of who cancelled an attempt; null where it is not cancelled, or nobody was named. */
export function cancelledBySql(row: string): string {
  return `case when ${row}.status in (${quoted(statusTexts('failed'))}) then nullif(${row}.cancelada_por, '') end`;
}

/** Where a task stands whose last attempt this is. */
export function taskState({ status, attempt }: Pick<TaskRecord, 'status' | 'attempt'>): TaskState {
  return status === 'scheduled' && attempt > 1 ? 'retrying' : status;
}

/** Every text of the column that means that status; a cancelled attempt has one of a failed one. */
export function statusTexts(status: TaskStatus): readonly string[] {
  const stored = status === 'cancelled' ? 'failed' : status;
  return [...statusByColumn].filter(([, meaning]) => meaning === stored).map(([text]) => text);
}

/**
 * The table's names for what TypeScript calls otherwise: the only place that maps them. Columns not listed
 * (`payload`, `metadados`, …) are read where they are used.
 */
export const column = {
  id: 'id',
  firstAttemptId: 'id_inicial',
  firstDueAt: 'data_hora_inicial',
  dueAt: 'data_hora',
  origin: 'origem',
  destination: 'destino',
  topic: 'processo',
  externalKey: 'chave_externa',
  nextAttemptAt: 'proxima_tentativa',
  attempt: 'tentativa',
  status: 'status',
  retried: 'reenfileirado',
  exhausted: 'estouro_tentativas',
  cancelledBy: 'cancelada_por',
  message: 'mensagem',
  payload: 'payload',
  tenant: 'tenant',
  group: 'grupo_empresarial',
  publication: 'pub_sub',
  publicationId: 'publication_id',
  subscriptionId: 'subscriber_id',
  dead: 'dead',
  liveId: 'live_id',
  priority: 'prioridade',
  startedAt: 'iniciada_em',
  finishedAt: 'finalizada_em',
  result: 'resultado',
  error: 'erro',
  metadata: 'metadados',
} as const;

/** Where the metadata of a task tells who edited its payload. */
export const editsKey = 'tarefa:edits';

/** Columns of 64 bits, and JSON, which may be no object: read as text, whatever a driver makes of them. */
const textualColumns: ReadonlySet<string> = new Set([
  column.id,
  column.firstAttemptId,
  column.tenant,
  column.publicationId,
  column.liveId,
  column.metadata,
]);

/**
 * A select list of all columns that {@link readTaskRecord} reads, of one row.
 *
 * @param instead SQL that stands in place of some columns
 */
export function recordFields(
  row: string,
  payload: string,
  instead: Readonly<Record<string, string>> = {},
): string {
  return Object.values(column)
    .map((name) => {
      const other = name === column.payload ? payload : instead[name];
      if (other !== undefined) return `${other} as ${name}`;
      return textualColumns.has(name) ? `${row}.${name}::text as ${name}` : `${row}.${name}`;
    })
    .join(', ');
}

/** Longest text, in characters, that a column of the contract takes. */
export const columnLength = {
  origin: 150,
  destination: 150,
  topic: 250,
  externalKey: 100,
  group: 40,
  message: 500,
  subscriptionId: 100,
} as const;

/** A row as any driver gives it: numbers, dates and booleans may come as text or as values. */
export type Row = Readonly<Record<string, unknown>>;

/** Reads a status of the table; unknown text (a foreign program's) stands for itself. */
export function readStatus(value: unknown): StoredStatus {
  const text = String(value);
  return statusByColumn.get(text) ?? text;
}

/** Reads a whole attempt from a row that has all columns. */
export function readTaskRecord(row: Row): TaskRecord {
  const status = readStatus(row[column.status]);
  const cancelledBy = status === 'failed' ? readText(row[column.cancelledBy]) : null;
  return {
    id: String(row[column.id]),
    firstAttemptId: readText(row[column.firstAttemptId]) ?? String(row[column.id]),
    attempt: Number(row[column.attempt] ?? 1),
    topic: readText(row[column.topic]),
    origin: readText(row[column.origin]),
    destination: readText(row[column.destination]),
    externalKey: readText(row[column.externalKey]),
    tenant: readText(row[column.tenant]),
    group: readText(row[column.group]),
    priority: Number(row[column.priority] ?? 50),
    dueAt: readDate(row[column.dueAt]) ?? new Date(Number.NaN),
    firstDueAt: readDate(row[column.firstDueAt]) ?? new Date(Number.NaN),
    publicationId: readText(row[column.publicationId]),
    subscriptionId: readText(row[column.subscriptionId]),
    dead: readBoolean(row[column.dead]),
    liveId: readText(row[column.liveId]),
    metadata: readJson(row[column.metadata]),
    status: cancelledBy === null ? status : 'cancelled',
    payload: readText(row[column.payload]),
    publication: readBoolean(row[column.publication]),
    message: readText(row[column.message]),
    result: readText(row[column.result]),
    error: readText(row[column.error]),
    nextAttemptAt: readDate(row[column.nextAttemptAt]),
    retried: readBoolean(row[column.retried]),
    exhausted: readBoolean(row[column.exhausted]),
    // Empty where nobody was named.
    cancelledBy: cancelledBy || null,
    startedAt: readDate(row[column.startedAt]),
    finishedAt: readDate(row[column.finishedAt]),
    ...readUnreadable(row),
  };
}

/** What of a row could only be read with its bytes escaped, where something could. */
function readUnreadable(row: Row): Pick<TaskRecord, 'unreadable'> {
  const columns = row[unreadableColumns];
  return Array.isArray(columns) ? { unreadable: columns.map(String) } : {};
}

export function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : value == null ? null : textOf(value);
}

export function readBoolean(value: unknown): boolean {
  return value === true || value === 't' || value === 'true' || value === '1' || value === 1;
}

/** The last and the first moment that a `Date` can hold: what lies beyond, such as `infinity`, is read as these. */
const [lastMoment, firstMoment] = [new Date(8.64e15), new Date(-8.64e15)];

/** What PostgreSQL calls such a moment; undefined of any other. */
export function endlessName(time: Date): 'infinity' | '-infinity' | undefined {
  if (time.getTime() === lastMoment.getTime()) return 'infinity';
  return time.getTime() === firstMoment.getTime() ? '-infinity' : undefined;
}

export function readDate(value: unknown): Date | null {
  if (value === null || value === undefined) return null;
  const date = typeof value === 'string' ? parseTime(value) : new Date(value as Date | number);
  if (!Number.isNaN(date.getTime())) return date;
  // Drivers make numbers of the infinite ones; years before the first have a minus there or `BC` behind.
  const isBefore = /^-|BC$/.test(textOf(value));
  return isBefore ? firstMoment : lastMoment;
}

/** As PostgreSQL writes times: years may have more than four digits and, long ago, zones have seconds. */
const writtenTime = /^(\d{4,6})(-\d\d-\d\d)[ T]([\d:.]+)(([+-])\d\d)(:\d\d)?(?::(\d\d))?$/;

function parseTime(text: string): Date {
  const [, year, day, clock, hours, sign, minutes = ':00', seconds = '0'] = writtenTime.exec(text) ?? [];
  if (year === undefined) return new Date(text);
  const ms = Date.parse(`+${year.padStart(6, '0')}${day}T${clock}${hours}${minutes}`);
  return new Date(ms - Number(`${sign}${seconds}`) * 1_000);
}

/** JSON of any kind: the column may hold more than objects. Null when its bytes are not text. */
export function readJson(value: unknown): JsonObject | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string') return value as JsonObject;
  try {
    return JSON.parse(value) as JsonObject;
  } catch {
    return null;
  }
}

/** Drivers give ids as text, numbers or BigInt. */
function textOf(value: {}): string {
  return typeof value === 'string' ? value : `${value as string | number | bigint}`;
}
