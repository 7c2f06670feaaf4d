import { readBoolean, readDate, readText, taskStates } from './columns.js';
import { pauseOf, type Pause } from './pause.js';
import { buriedLimit, countLimit, endedLimit } from './reports.js';
import { plainRoute, publicationRoute } from './route.js';
import type { TaskState } from '../task.js';
import type {
  BuriedCounts,
  CappedCount,
  NextTask,
  PendingTask,
  RunningTask,
  SnapshotHolder,
  StatusCount,
  StatusTask,
  TableSize,
  UnheardSubscription,
  WaitingRoute,
  WorkerStatus,
} from './status-report.js';

// Reads the answers of the statements of a status, one function each.

/** Most pairs of a route and a priority; where there are more than ten, fewer rows of each are counted. */
export const placeLimit = 500;
const leastCounted = 1_000;
const countedOfAll = 100_000;
/** Most running attempts and workers that are listed. */
export const listLimit = 200;

/** How many rows of a place are counted, given the number of places. */
export function rowsOfPlace(places: number): number {
  return Math.min(countLimit, Math.max(leastCounted, Math.floor(countedOfAll / Math.max(1, places))));
}

/** Rows of an answer. */
export type Rows = readonly Readonly<Record<string, unknown>>[];
type Row = Rows[number];

/** Where pending attempts are, and the one that is due for longest. */
export interface PendingPlaces {
  /** The attempt of each that is due for longest. */
  readonly ids: readonly string[];
  readonly oldest: PendingTask | undefined;
  readonly waiting: readonly WaitingRoute[];
  /** True when there may be more places. */
  readonly isCut: boolean;
}

export function readPlaces(rows: Rows): PendingPlaces {
  const due = rows.filter((row) => row['waiting_ms'] !== null && Number(row['waiting_ms']) >= 0);
  const first = due.reduce<Row | undefined>(
    (oldest, row) => (oldest && Number(oldest['waiting_ms']) >= Number(row['waiting_ms']) ? oldest : row),
    undefined,
  );
  return {
    ids: rows.map((row) => String(row['id'])),
    oldest: first && {
      ...readName(first),
      dueAt: dateOf(first['due']),
      waitingMs: wholeOf(first['waiting_ms']),
    },
    waiting: readWaiting(due),
    isCut: rows.length >= placeLimit,
  };
}

/** Of each route the one that has waited for longest, whatever its priority. */
function readWaiting(due: Rows): readonly WaitingRoute[] {
  const byRoute = new Map<string, WaitingRoute>();
  for (const row of due) {
    const route = plainRoute(String(row['route']));
    const waitingMs = wholeOf(row['waiting_ms']);
    if (waitingMs <= (byRoute.get(route)?.waitingMs ?? -1)) continue;
    byRoute.set(route, { ...readName(row), publication: route === publicationRoute, waitingMs });
  }
  return [...byRoute.values()];
}

/** @param isCut true when there may be others that were not counted */
export function readPending(rows: Rows, isCut: boolean): StatusCount[] {
  return rows.map((row) => readCount(row, 'pending', isCut || readBoolean(row['is_capped'])));
}

export function readScheduled(rows: Rows): StatusCount[] {
  const isCapped = totalOf(rows) >= countLimit;
  return rows.map((row) => readCount(row, String(row['state']), isCapped));
}

export function readNext(rows: Rows): NextTask | undefined {
  return readNextTasks(rows)[0];
}

export function readNextTasks(rows: Rows): readonly NextTask[] {
  return rows.map((row) => ({ ...readName(row), dueAt: dateOf(row['due']), inMs: wholeOf(row['in_ms']) }));
}

/** Counted by topic, and those that have run for longest. */
export function readRunning(rows: Rows): { counts: StatusCount[]; tasks: RunningTask[]; total: CappedCount } {
  const isCapped = rows.length >= countLimit;
  const counts = rows.map((row) => readCount({ ...row, n: 1, due: null }, 'processing', isCapped));
  const tasks = rows.slice(0, listLimit).map((row) => ({
    ...readName(row),
    attempt: Number(row['tentativa'] ?? 1),
    startedAt: dateOf(row['started']),
    // By the table, it may begin later than now.
    runningMs: Math.max(0, wholeOf(row['running_ms'])),
    workerId: readText(row['executor']),
    host: readText(row['host']),
    pid: numberOf(row['pid']),
  }));
  return { counts, tasks, total: { count: rows.length, isCapped } };
}

export function readEnded(rows: Rows): StatusCount[] {
  const isCapped = totalOf(rows) >= endedLimit;
  return rows.map((row) => readCount(row, String(row['state']), isCapped));
}

export function readBuried([row]: Rows): BuriedCounts {
  const [buried = 0, treated = 0, alone = 0] = ['buried', 'treated', 'alone'].map((name) =>
    Number(row?.[name] ?? 0),
  );
  return { treated, untreated: buried - treated + alone, isCapped: Number(row?.['n'] ?? 0) >= buriedLimit };
}

const order: readonly string[] = taskStates;

/** Those of several places together: one entry for a topic, subscription and status. */
export function mergeCounts(lists: readonly (readonly StatusCount[] | undefined)[]): readonly StatusCount[] {
  const merged = new Map<string, StatusCount>();
  for (const one of lists.flatMap((list) => list ?? [])) {
    const key = JSON.stringify([one.topic, one.subscriptionId, one.dead, one.status]);
    const other = merged.get(key);
    merged.set(key, other ? together(one, other) : one);
  }
  return [...merged.values()].toSorted(
    (a, b) =>
      compare(a.topic ?? '', b.topic ?? '') ||
      compare(a.subscriptionId ?? '', b.subscriptionId ?? '') ||
      Number(a.dead) - Number(b.dead) ||
      order.indexOf(a.status) - order.indexOf(b.status),
  );
}

export function readWorkers(rows: Rows): WorkerStatus[] {
  return rows.map((row) => ({
    id: String(row['id']),
    host: String(row['host']),
    pid: Number(row['pid']),
    version: String(row['version']),
    concurrency: Number(row['concurrency']),
    routes: Array.isArray(row['routes']) ? row['routes'].map(String) : [],
    startedAt: dateOf(row['started_at']),
    alive: readBoolean(row['has_lock']) ? 'lock' : readBoolean(row['has_lease']) ? 'lease' : false,
    missedAt: readDate(row['missed_at']),
    parent: readText(row['parent']),
    output: readText(row['output']),
  }));
}

export function readUnheard(rows: Rows): UnheardSubscription[] {
  return rows.map((row) => ({
    id: String(row['id']),
    topic: String(row['processo']),
    active: readBoolean(row['ativo']),
  }));
}

export function readPaused(rows: Rows): Pause[] {
  return rows.map((row) => pauseOf(String(row['route']), readDate(row['paused_at']) ?? new Date(Number.NaN)));
}

export function readSize([row]: Rows): Omit<TableSize, 'indexes'> {
  return {
    tableBytes: Number(row?.['table_bytes']),
    indexBytes: Number(row?.['index_bytes']),
    liveRows: Number(row?.['live_rows'] ?? 0),
    deadRows: Number(row?.['dead_rows'] ?? 0),
    partitions: Number(row?.['partitions']),
    vacuumedAt: readDate(row?.['vacuumed_at']),
    analyzedAt: readDate(row?.['analyzed_at']),
  };
}

export function readIndexes(rows: Rows): TableSize['indexes'] {
  return rows.map((row) => ({
    name: String(row['name']),
    bytes: Number(row['bytes']),
    valid: readBoolean(row['valid']),
  }));
}

export function readSnapshot([row]: Rows): SnapshotHolder | undefined {
  return (
    row && {
      kind: String(row['kind']) as SnapshotHolder['kind'],
      pid: numberOf(row['pid']),
      name: readText(row['name']),
      applicationName: readText(row['application_name']),
      user: readText(row['user_name']),
      state: readText(row['state']),
      since: readDate(row['since']),
      sinceMs: row['since_ms'] === null ? null : wholeOf(row['since_ms']),
      transactions: Number(row['transactions']),
    }
  );
}

function readName(row: Row): StatusTask {
  return {
    id: String(row['id']),
    firstAttemptId: String(row['first_id']),
    topic: readText(row['processo']),
    subscriptionId: readText(row['subscriber_id']),
    dead: readBoolean(row['dead']),
  };
}

function readCount(row: Row, status: TaskState, isCapped: boolean): StatusCount {
  const { topic, subscriptionId, dead } = readName(row);
  return {
    topic,
    subscriptionId,
    dead,
    status,
    count: Number(row['n']),
    isCapped,
    oldestDueAt: readDate(row['due']),
  };
}

function together(one: StatusCount, other: StatusCount): StatusCount {
  const [first, second] = [one.oldestDueAt, other.oldestDueAt];
  const oldestDueAt = first && second ? (first < second ? first : second) : (first ?? second);
  return { ...one, count: one.count + other.count, isCapped: one.isCapped || other.isCapped, oldestDueAt };
}

function totalOf(rows: Rows): number {
  return rows.reduce((sum, row) => sum + Number(row['n']), 0);
}

function dateOf(value: unknown): Date {
  return readDate(value) ?? new Date(Number.NaN);
}

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

function wholeOf(value: unknown): number {
  return Math.round(Number(value));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
