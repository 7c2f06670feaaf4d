import type { JsonObject, TaskRecord, TaskStatus } from '../task.js';

/** The table's names for the statuses: the only place that maps them. */
export const statusColumn = {
  scheduled: 'agendada',
  pending: 'pendente',
  processing: 'processando',
  succeeded: 'sucesso',
  failed: 'falha',
} as const satisfies Record<TaskStatus, string>;

const statusByColumn = new Map<string, TaskStatus>(
  Object.entries(statusColumn).map(([status, column]) => [column, status as TaskStatus]),
);
// Written by old nsj-queue-lib workers for an attempt whose worker crashed.
statusByColumn.set('falha_processando', 'failed');

/** Every text that means that status. */
export function statusTexts(status: TaskStatus): readonly string[] {
  return [...statusByColumn].filter(([, meaning]) => meaning === status).map(([text]) => text);
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

/** Columns of 64 bits: read as text, whatever a driver makes of them. */
const bigColumns: ReadonlySet<string> = new Set([
  column.id,
  column.firstAttemptId,
  column.tenant,
  column.publicationId,
  column.liveId,
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
      return bigColumns.has(name) ? `${row}.${name}::text as ${name}` : `${row}.${name}`;
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

/** Reads a status of the table; unknown text (a foreign program's) is an error, never a guess. */
export function readStatus(value: unknown): TaskStatus {
  const status = statusByColumn.get(String(value));
  if (status === undefined) throw new Error(`the table holds an unknown status '${String(value)}'`);
  return status;
}

/** Reads a whole attempt from a row that has all columns. */
export function readTaskRecord(row: Row): TaskRecord {
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
    status: readStatus(row[column.status]),
    payload: readText(row[column.payload]),
    publication: readBoolean(row[column.publication]),
    message: readText(row[column.message]),
    result: readText(row[column.result]),
    error: readText(row[column.error]),
    nextAttemptAt: readDate(row[column.nextAttemptAt]),
    retried: readBoolean(row[column.retried]),
    exhausted: readBoolean(row[column.exhausted]),
    startedAt: readDate(row[column.startedAt]),
    finishedAt: readDate(row[column.finishedAt]),
  };
}

export function readText(value: unknown): string | null {
  return value === null || value === undefined ? null : textOf(value);
}

export function readBoolean(value: unknown): boolean {
  return value === true || value === 't' || value === 'true';
}

export function readDate(value: unknown): Date | null {
  if (value === null || value === undefined) return null;
  return value instanceof Date ? value : new Date(value as string);
}

export function readJson(value: unknown): JsonObject | null {
  if (value === null || value === undefined) return null;
  return (typeof value === 'string' ? JSON.parse(value) : value) as JsonObject;
}

/** Drivers give ids as text, numbers or BigInt. */
function textOf(value: {}): string {
  return typeof value === 'string' ? value : `${value as string | number | bigint}`;
}
