import { livenessPrefix } from '../../coordination/lock-names.js';
import { readTaskRecord, readText } from '../columns.js';
import type { EndedOnRoute, History, HistoryRequest, MeasuredAttempt } from '../history.js';
import { readInconsistencies, type CheckRequest, type Inconsistency } from '../inconsistencies.js';
import { readNextTasks, readPlaces, readWorkers } from '../read-status.js';
import type {
  LastAttempts,
  QueueReports,
  SearchPage,
  SearchResult,
  StatusRequest,
  StoredPayload,
} from '../reports.js';
import type { NextTask, StatusReport, WorkerStatus } from '../status-report.js';
import type { TaskSelection } from '../task-selection.js';
import type { Upkeep } from '../upkeep.js';
import type { WaitingRoute } from '../waiting-route.js';
import { idsOf, rowsOf } from './administration/answered.js';
import { jsonIds } from './administration/id-list.js';
import type { TextRow } from './connections/answers.js';
import type { Run } from './connections/transactions.js';
import type { QueueTables } from './identifiers.js';
import { lockPrefix } from './lock-name.js';
import type { MysqlAccess } from './mysql-access.js';
import { readWaiting } from './read-waiting.js';
import { addToHistory, foldHistory } from './reports/history-rows.js';
import { limited, lookMs } from './reports/limited.js';
import { readPendingPlaces } from './reports/pending-places.js';
import { readQueueStatus } from './reports/queue-status.js';
import { readHistory } from './reports/read-history.js';
import { searchTasks } from './reports/task-search.js';
import { withRoutes } from './reports/worker-rows.js';
import { sqlMoment, sqlTime } from './sql-time.js';
import { findAttempts } from './statements/admin.js';
import { beforeNewest, findInconsistencies } from './statements/check.js';
import * as history from './statements/history.js';
import { cutAttempts, searchPayload } from './statements/search.js';
import { livingWorkers, nextScheduled } from './statements/status.js';

/** Below all ids. */
const leastId = '-9223372036854775808';

/** Each part of what programs look at may take this long. */
const timeoutMs = 2_000;

/** {@link QueueReports} in MySQL and MariaDB, on the connections of the library: handlers have others. */
export class MysqlReports implements QueueReports {
  readonly #access: MysqlAccess;
  readonly #upkeep: Pick<Upkeep, 'findPurgeable'>;

  constructor(access: MysqlAccess, upkeep: Pick<Upkeep, 'findPurgeable'>) {
    this.#access = access;
    this.#upkeep = upkeep;
  }

  status(request: StatusRequest): Promise<StatusReport> {
    return readQueueStatus(this.#tables, this.#access.own, this.#upkeep, request);
  }

  async workers(): Promise<readonly WorkerStatus[]> {
    const prefix = lockPrefix(livenessPrefix(this.#tables.qualifiedName));
    return readWorkers(withRoutes(await this.#look(livingWorkers(this.#tables), [prefix])));
  }

  async nextScheduled(limit: number): Promise<readonly NextTask[]> {
    return readNextTasks(await this.#look(nextScheduled(this.#tables), [limit], timeoutMs));
  }

  waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return limited(this.#access.own, timeoutMs, (run) => readWaiting(run, this.#tables));
  }

  search(selection: TaskSelection, page: SearchPage): Promise<SearchResult> {
    return searchTasks(this.#tables, this.#access.own, selection, page);
  }

  /** Ids are found first: only those attempts that are shown are read. */
  async lastAttempts(id: string, most: number): Promise<LastAttempts> {
    const ids = idsOf(await this.#look(findAttempts(this.#tables), [id, id]));
    const newest = ids.toSorted((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1)).slice(0, most);
    const rows = newest.length === 0 ? [] : await this.#look(cutAttempts(this.#tables), [jsonIds(newest)]);
    return {
      attempts: rows.map((row) => ({
        task: readTaskRecord(row),
        resultLength: Number(row['result_length'] ?? 0),
        errorLength: Number(row['error_length'] ?? 0),
      })),
      total: ids.length,
    };
  }

  async payload(id: string, mostBytes: number): Promise<StoredPayload | undefined> {
    const [row] = await this.#look(searchPayload(this.#tables), [mostBytes, id]);
    return (
      row && {
        text: readText(row['payload']),
        bytes: Number(row['bytes'] ?? 0),
        isDelivery: row['subscriber_id'] !== null,
        // Whatever these servers store is text.
        isReadable: true,
      }
    );
  }

  async check(request: CheckRequest): Promise<readonly Inconsistency[]> {
    const { newest, purgeMaxAgeDays, timeoutMs: limitMs } = request;
    const since = request.since === undefined ? null : sqlMoment(request.since);
    return limited(this.#access.own, limitMs, async (run) => {
      const [before] = newest === undefined ? [] : await rowsOf(run, beforeNewest(this.#tables), [newest]);
      const meant = [since, since, before?.['id'] ?? leastId];
      const values = [...meant, ...meant, ...meant, purgeMaxAgeDays];
      return readInconsistencies(await rowsOf(run, findInconsistencies(this.#tables), values));
    });
  }

  history(request: HistoryRequest): Promise<History> {
    return limited(this.#access.own, lookMs, (run) => readHistory(run, this.#tables, request));
  }

  async measure(ids: readonly string[]): Promise<ReadonlyMap<string, MeasuredAttempt>> {
    const { own } = this.#access;
    const { rows } = await own.query(history.measureAttempts(this.#tables), [jsonIds(ids)]);
    return new Map(
      rows.map((row) => [
        String(row['id']),
        { waitMs: Number(row['wait_ms']), runMs: Number(row['run_ms']) },
      ]),
    );
  }

  async addHistory(ended: readonly EndedOnRoute[]): Promise<void> {
    await this.#access.own.transaction(async (run) => {
      const at = await readMinute(run);
      const additions = ended.map((one) => ({ ...one, at, lag_ms: null }));
      await addToHistory(run, this.#tables, additions);
    });
  }

  /** One connection at a time: who holds one while waiting for another may wait for ever. */
  async condenseHistory(): Promise<void> {
    const { own } = this.#access;
    const tables = this.#tables;
    const minute = await own.use(readMinute);
    const { changed } = await own.query(history.takeMinute(tables), [minute]);
    if (changed === 0) return;
    await own.query(history.noteLag(tables), [await this.#readLag(), minute]);
    await own.query(history.forgetHistory(tables));
    await own.transaction((run) => foldHistory(run, tables));
  }

  /** How long the pending task that is due for longest has waited, in ms; 0 when none waits. */
  async #readLag(): Promise<number> {
    const places = await limited(this.#access.own, timeoutMs, (run) => readPendingPlaces(run, this.#tables));
    return Math.max(0, readPlaces(places).oldest?.waitingMs ?? 0);
  }

  get #tables(): QueueTables {
    return this.#access.tables;
  }

  #look(text: string, values: readonly unknown[], limitMs = lookMs): Promise<readonly TextRow[]> {
    return limited(this.#access.own, limitMs, (run) => rowsOf(run, text, values));
  }
}

/** This minute of the server's, as it takes it. */
async function readMinute(run: Run): Promise<string> {
  const [row] = await rowsOf(run, history.thisMinute);
  return sqlTime(String(row?.['at']));
}
