import { TarefaError } from '../../errors.js';
import type { TaskRecord } from '../../task.js';
import { version } from '../../version.js';
import type { EndedOnRoute, History, HistoryRequest, MeasuredAttempt } from '../history.js';
import { column, readTaskRecord, taskState } from '../columns.js';
import type { CheckRequest, Inconsistency } from '../inconsistencies.js';
import { pauseOf } from '../pause.js';
import {
  longestText,
  type CutAttempt,
  type LastAttempts,
  type QueueReports,
  type SearchPage,
  type SearchResult,
  type StatusRequest,
  type StoredPayload,
} from '../reports.js';
import type {
  NextTask,
  RunningTask,
  StatusCount,
  StatusReport,
  StatusTask,
  WaitingRoute as WaitingTask,
  WorkerStatus,
} from '../status-report.js';
import type { TaskSelection } from '../task-selection.js';
import { findUnserved, servedRoutes } from '../unserved-routes.js';
import type { Upkeep } from '../upkeep.js';
import type { WaitingRoute } from '../waiting-route.js';
import { countBuried } from './memory-buried.js';
import { findInconsistencies } from './memory-check.js';
import { MemoryHistory } from './memory-history.js';
import {
  compareAge,
  dueMs,
  hasEnded,
  isPending,
  isRunning,
  isScheduled,
  plainRouteOf,
  type MemoryRow,
} from './memory-row.js';
import { select } from './memory-selection.js';
import type { MemoryTable } from './memory-table.js';
import { waitingRoutes } from './memory-waiting.js';

const hourMs = 3_600_000;

/** {@link QueueReports} in memory: of what a server measures it has nothing to say. */
export class MemoryReports implements QueueReports {
  readonly #table: MemoryTable;
  readonly #name: string;
  readonly #upkeep: Pick<Upkeep, 'findPurgeable'>;
  readonly #living: ReadonlySet<string>;
  readonly #history = new MemoryHistory();

  constructor(
    table: MemoryTable,
    name: string,
    upkeep: Pick<Upkeep, 'findPurgeable'>,
    living: ReadonlySet<string> = new Set(),
  ) {
    this.#table = table;
    this.#name = name;
    this.#upkeep = upkeep;
    this.#living = living;
  }

  async status(request: StatusRequest): Promise<StatusReport> {
    const { nowMs, rows } = this.#table;
    const { purgeMaxAgeDays, since = new Date(nowMs - hourMs), ended = true, purgeable = true } = request;
    const due = rows.filter((row) => isPending(row) && dueMs(row) <= nowMs).sort(compareAge);
    const [oldest] = due;
    const [next] = await this.nextScheduled(1);
    const running = rows.filter(isRunning).map((row) => this.#runningTask(row));
    const seen = {
      waiting: due.filter(isFirstOfRoute).map((row) => this.#waiting(row)),
      counts: this.#counts(rows.filter((row) => isCounted(row, since, ended))),
      workers: await this.workers(),
      paused: [...this.#table.paused].map(([route, at]) => pauseOf(route, new Date(at))),
    };
    const unheard = this.#unheard(seen.workers);
    return {
      table: this.#name,
      at: new Date(nowMs),
      serverVersion: `nestjs-tarefa ${version}, in memory`,
      endedSince: since,
      ...seen,
      buried: countBuried(this.#table),
      oldestPending: oldest
        ? { ...nameOf(oldest), dueAt: new Date(dueMs(oldest)), waitingMs: nowMs - dueMs(oldest) }
        : null,
      unserved: findUnserved(seen, unheard),
      unheard: unheard.filter(({ active }) => active),
      lagMs: Math.max(0, oldest ? nowMs - dueMs(oldest) : 0, -(next?.inMs ?? 0)),
      nextScheduled: next ?? null,
      running,
      runningTotal: { count: running.length, isCapped: false },
      purgeable: purgeable ? await this.#purgeable(purgeMaxAgeDays) : null,
      purgeMaxAgeDays,
      size: null,
      oldestSnapshot: null,
      seesAllSessions: true,
      notifyUsage: null,
      unknown: [],
    };
  }

  async workers(): Promise<readonly WorkerStatus[]> {
    const { nowMs, workers } = this.#table;
    return [...workers]
      .filter(([, { stoppedAt }]) => stoppedAt === undefined)
      .map(([id, { host, pid, version: own, concurrency, routes, missedAt, leaseUntil, detached }]) => ({
        id,
        host,
        pid,
        version: own,
        concurrency,
        routes,
        startedAt: new Date(nowMs),
        alive: this.#living.has(id) ? 'lock' : this.#table.isLeased({ leaseUntil }) ? 'lease' : false,
        missedAt: missedAt === undefined ? null : new Date(missedAt),
        parent: detached?.parent ?? null,
        output: detached?.output ?? null,
      }));
  }

  async nextScheduled(limit: number): Promise<readonly NextTask[]> {
    const { nowMs, rows } = this.#table;
    return rows
      .filter(isScheduled)
      .sort(compareAge)
      .slice(0, limit)
      .map((row) => ({ ...nameOf(row), dueAt: new Date(dueMs(row)), inMs: dueMs(row) - nowMs }));
  }

  async waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return waitingRoutes(this.#table);
  }

  async search(selection: TaskSelection, { limit, after, accept }: SearchPage): Promise<SearchResult> {
    if (after !== undefined && !/^\d{1,19}$/.test(after)) {
      throw new TarefaError(
        'INPUT_INVALID',
        `after must be \`next\` of a page, not ${JSON.stringify(after)}`,
      );
    }
    const withPayload = selection.payload !== undefined;
    const found = select(this.#table, selection)
      .filter((row) => after === undefined || BigInt(String(row[column.id])) < BigInt(after))
      .toReversed()
      .map((row) => this.#record(row, withPayload))
      .filter((task) => !withPayload || (accept?.(task) ?? true));
    const tasks = found.slice(0, limit);
    return { tasks, next: found.length > limit ? tasks.at(-1)?.id : undefined, searched: 1 };
  }

  async lastAttempts(id: string, most: number): Promise<LastAttempts> {
    const chain = this.#table.chainOf(id);
    const attempts = chain
      .toReversed()
      .slice(0, most)
      .map((row): CutAttempt => {
        const task = readTaskRecord({ ...row, [column.payload]: null });
        const [result, error] = [
          task.result?.slice(0, longestText) ?? null,
          task.error?.slice(0, longestText) ?? null,
        ];
        return {
          task: { ...task, result, error },
          resultLength: task.result?.length ?? 0,
          errorLength: task.error?.length ?? 0,
        };
      });
    return { attempts, total: chain.length };
  }

  async payload(id: string, mostBytes: number): Promise<StoredPayload | undefined> {
    const row = this.#table.row(id);
    if (!row) return undefined;
    const text = this.#table.payloadOf(row);
    const bytes = Buffer.byteLength(text ?? '');
    const isDelivery = row[column.subscriptionId] != null;
    return { text: bytes > mostBytes ? null : text, bytes, isDelivery, isReadable: true };
  }

  async check(request: CheckRequest): Promise<readonly Inconsistency[]> {
    return findInconsistencies(this.#table, request);
  }

  async history(request: HistoryRequest): Promise<History> {
    return this.#history.read(this.#table.nowMs, request);
  }

  async measure(ids: readonly string[]): Promise<ReadonlyMap<string, MeasuredAttempt>> {
    const asked = new Set(ids);
    const ended = this.#table.rows.filter((row) => hasEnded(row) && asked.has(String(row[column.id])));
    return new Map(
      ended.map((row) => {
        const { id, dueAt, startedAt, finishedAt } = readTaskRecord(row);
        const [started, finished] = [startedAt ?? dueAt, finishedAt ?? dueAt];
        return [
          id,
          { waitMs: started.getTime() - dueAt.getTime(), runMs: finished.getTime() - started.getTime() },
        ];
      }),
    );
  }

  async addHistory(ended: readonly EndedOnRoute[]): Promise<void> {
    this.#history.add(this.#table.nowMs, ended);
  }

  async condenseHistory(): Promise<void> {
    const { nowMs, rows } = this.#table;
    const waits = rows.filter(isPending).map((row) => nowMs - dueMs(row));
    this.#history.condense(nowMs, Math.max(0, ...waits));
  }

  async #purgeable(olderThanDays: number): Promise<StatusReport['purgeable']> {
    const rows = this.#table.rows.length;
    const { blocks } = await this.#upkeep.findPurgeable({
      olderThanDays,
      after: undefined,
      rows,
      blockRows: rows,
    });
    return { count: blocks.flat().length, isCapped: false };
  }

  #counts(rows: readonly MemoryRow[]): readonly StatusCount[] {
    const counts = new Map<string, StatusCount>();
    for (const row of rows) {
      const { id: _id, firstAttemptId: _first, ...name } = nameOf(row);
      const status = taskState(readTaskRecord(row));
      const key = JSON.stringify([name.topic, name.subscriptionId, name.dead, status]);
      const { count = 0, oldestDueAt = null } = counts.get(key) ?? {};
      const dueAt = new Date(dueMs(row));
      const oldest = oldestDueAt && oldestDueAt < dueAt ? oldestDueAt : dueAt;
      counts.set(key, { ...name, status, count: count + 1, isCapped: false, oldestDueAt: oldest });
    }
    return [...counts.values()];
  }

  #waiting(row: MemoryRow): WaitingTask {
    const publication = row[column.publication] === 'true';
    return { ...nameOf(row), publication, waitingMs: this.#table.nowMs - dueMs(row) };
  }

  #runningTask(row: MemoryRow): RunningTask {
    const { attempt, startedAt, dueAt } = readTaskRecord(row);
    const worker = this.#table.workers.get(row['executor'] ?? '');
    return {
      ...nameOf(row),
      attempt,
      startedAt: startedAt ?? dueAt,
      runningMs: Math.max(0, this.#table.nowMs - (startedAt ?? dueAt).getTime()),
      workerId: row['executor'] ?? null,
      host: worker?.host ?? null,
      pid: worker?.pid ?? null,
    };
  }

  /** Subscriptions without a URL that no living worker serves. */
  #unheard(workers: readonly WorkerStatus[]): StatusReport['unheard'] {
    const served = new Set(servedRoutes(workers));
    return [...this.#table.subscriptions.values()]
      .filter(({ id, url }) => url === null && !served.has(`s:${id}`))
      .map(({ id, topic, active }) => ({ id, topic, active }));
  }

  #record(row: MemoryRow, withPayload: boolean): TaskRecord {
    const payload = withPayload ? this.#table.payloadOf(row) : null;
    const others = { [column.result]: null, [column.error]: null, [column.metadata]: null };
    return readTaskRecord({ ...row, ...others, [column.payload]: payload });
  }
}

function nameOf(row: MemoryRow): StatusTask {
  const { id, firstAttemptId, topic, subscriptionId, dead } = readTaskRecord(row);
  return { id, firstAttemptId, topic, subscriptionId, dead };
}

/** What has ended counts from a time on, and as its task's last attempt. */
function isCounted(row: MemoryRow, since: Date, ended: boolean): boolean {
  if (!hasEnded(row)) return true;
  return ended && row[column.retried] !== 'true' && dueMs(row) >= since.getTime();
}

/** Rows come oldest first: of each route the one that has waited for longest. */
function isFirstOfRoute(row: MemoryRow, index: number, all: readonly MemoryRow[]): boolean {
  return all.findIndex((other) => plainRouteOf(other) === plainRouteOf(row)) === index;
}
