import { livenessPrefix } from '../../coordination/lock-names.js';
import type { EndedOnRoute, History, HistoryRequest, MeasuredAttempt } from '../history.js';
import { readInconsistencies, type CheckRequest, type Inconsistency } from '../inconsistencies.js';
import { readTaskRecord, readText } from '../columns.js';
import { readNextTasks, readWorkers, readPlaces } from '../read-status.js';
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
import { unreadableColumns } from '../unreadable.js';
import type { Upkeep } from '../upkeep.js';
import type { WaitingRoute } from '../waiting-route.js';
import type { QueueTables } from './identifiers.js';
import type { QueueAccess } from './queue-access.js';
import { queryReadable, readInTransaction } from './readable-rows.js';
import { readWaitingRoutes } from './read-waiting.js';
import { readHistory } from './reports/read-history.js';
import { readQueueStatus } from './reports/queue-status.js';
import { searchTasks } from './reports/task-search.js';
import { beforeNewest, findInconsistencies } from './statements/check.js';
import * as history from './statements/history.js';
import { lastAttempts, searchPayload } from './statements/search.js';
import {
  livingWorkers,
  nextScheduled,
  statusSettings,
  walkSettings,
  pendingPlaces,
} from './statements/status.js';
import type { RunTransaction } from './partitions/short-transaction.js';

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Each part of what is read may take this long: where dead entries of an index have piled up it is given up then. */
const timeoutMs = 2_000;

/** {@link QueueReports} in PostgreSQL, on connections of its own: neither do handlers wait for it, nor it for handlers. */
export class PostgresReports implements QueueReports {
  readonly #access: QueueAccess;
  readonly #upkeep: Pick<Upkeep, 'findPurgeable'>;

  constructor(access: QueueAccess, upkeep: Pick<Upkeep, 'findPurgeable'>) {
    this.#access = access;
    this.#upkeep = upkeep;
  }

  status(request: StatusRequest): Promise<StatusReport> {
    const { interop, lookInTransaction: transaction } = this.#access;
    return readQueueStatus(this.#tables, transaction, this.#upkeep, interop, request);
  }

  async workers(): Promise<readonly WorkerStatus[]> {
    return readWorkers(
      await this.#look(livingWorkers(this.#tables), [livenessPrefix(this.#tables.qualifiedName)]),
    );
  }

  async nextScheduled(limit: number): Promise<readonly NextTask[]> {
    const rows = await readInTransaction<Rows>(this.#access.lookInTransaction, async (tx, read) => {
      await tx.query(statusSettings(timeoutMs));
      return (await read(tx, nextScheduled(this.#tables, limit))).rows;
    });
    return readNextTasks(rows);
  }

  waitingRoutes(): Promise<readonly WaitingRoute[]> {
    // Not on a connection that handlers may all hold.
    return readWaitingRoutes(this.#access.inOwnTransaction, this.#tables, this.#access.interop);
  }

  search(selection: TaskSelection, page: SearchPage): Promise<SearchResult> {
    return searchTasks(this.#tables, this.#access.lookInTransaction, selection, page);
  }

  async lastAttempts(id: string, most: number): Promise<LastAttempts> {
    const rows = await this.#look(lastAttempts(this.#tables), [id, most]);
    return {
      attempts: rows.map((row) => ({
        task: readTaskRecord(row),
        resultLength: Number(row['result_length'] ?? 0),
        errorLength: Number(row['error_length'] ?? 0),
      })),
      total: Number(rows[0]?.['total'] ?? 0),
    };
  }

  async payload(id: string, mostBytes: number): Promise<StoredPayload | undefined> {
    const [row] = await this.#look(searchPayload(this.#tables), [id, mostBytes]);
    if (!row) return undefined;
    return {
      text: readText(row['payload']),
      bytes: Number(row['bytes'] ?? 0),
      isDelivery: row['subscriber_id'] !== null,
      isReadable: row[unreadableColumns] === undefined,
    };
  }

  check(request: CheckRequest): Promise<readonly Inconsistency[]> {
    const { since, newest, purgeMaxAgeDays, ofWorker = false } = request;
    const { interop, inOwnTransaction, lookInTransaction } = this.#access;
    const text = findInconsistencies(this.#tables, interop);
    const inTransaction = ofWorker ? inOwnTransaction : lookInTransaction;
    return inTransaction(async (tx) => {
      await tx.query(`set local statement_timeout = ${Math.round(request.timeoutMs)}`);
      let after: unknown = null;
      if (newest !== undefined) {
        await tx.query(walkSettings);
        after = (await tx.query(beforeNewest(this.#tables), [newest])).rows[0]?.['id'];
      }
      return readInconsistencies(
        (await tx.query(text, [since?.toISOString() ?? null, purgeMaxAgeDays, after])).rows,
      );
    });
  }

  history(request: HistoryRequest): Promise<History> {
    return readHistory(this.#access.looks, this.#tables, request);
  }

  async measure(ids: readonly string[]): Promise<ReadonlyMap<string, MeasuredAttempt>> {
    const { rows } = await this.#access.inserts.query(history.measureAttempts(this.#tables), [ids]);
    return new Map(
      rows.map((row) => [
        String(row['id']),
        { waitMs: Number(row['wait_ms']), runMs: Number(row['run_ms']) },
      ]),
    );
  }

  async addHistory(ended: readonly EndedOnRoute[]): Promise<void> {
    await this.#access.inserts.query(history.addHistory(this.#tables), [JSON.stringify(ended)]);
  }

  async condenseHistory(): Promise<void> {
    const { inserts } = this.#access;
    const [turn] = (await inserts.query(history.takeMinute(this.#tables), [])).rows;
    if (!turn) return;
    const lag = await readQueueLag((work) => this.#access.inTransaction(work), this.#tables);
    await inserts.query(history.noteLag(this.#tables), [turn['at'], lag]);
    await inserts.query(history.foldHistory(this.#tables), []);
    await inserts.query(history.forgetHistory(this.#tables), []);
  }

  get #tables(): QueueTables {
    return this.#access.schema.tables;
  }

  async #look(text: string, values: unknown[]): Promise<Rows> {
    return (await queryReadable(this.#access.looks, text, values)).rows;
  }
}

/** How long the pending task that is due for longest has waited, in ms; 0 when none waits. */
async function readQueueLag(transaction: RunTransaction, tables: QueueTables): Promise<number> {
  return readInTransaction<number>(transaction, async (tx, read) => {
    await tx.query(statusSettings(timeoutMs));
    await tx.query(walkSettings);
    const { oldest } = readPlaces((await read(tx, pendingPlaces(tables))).rows);
    return Math.max(0, oldest?.waitingMs ?? 0);
  });
}
