import type { RingBeside } from '../../coordination/bell.js';
import type { TaskRecord } from '../../task.js';
import type {
  BulkBlock,
  BulkKind,
  BulkPlace,
  EditedPayload,
  ListedPage,
  MeantTasks,
  TaskAdmin,
  TaskCount,
  WaitingTask,
} from '../admin.js';
import type { Route } from '../attempt.js';
import { runBlockWithin } from '../bulk-blocks.js';
import {
  readCancelled,
  type Cancellation,
  type CancelledAttempt,
  type CancelTarget,
} from '../cancellation.js';
import { readDate, readTaskRecord, readText } from '../columns.js';
import { pauseOf, type Pause } from '../pause.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import type { TaskSelection } from '../task-selection.js';
import { deleteWhole } from './administration/delete-whole.js';
import type { QueueTables } from './identifiers.js';
import { changeInTurn } from './interop/nsj-turn.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { classifyError } from './postgres-errors.js';
import type { QueueAccess } from './queue-access.js';
import { queryReadable, readInTransaction } from './readable-rows.js';
import { explainTakenId } from './schema/id-sequence.js';
import * as sql from './statements/admin.js';
import * as bulk from './statements/bulk.js';
import { cancelTasks, cancelValues } from './statements/cancel.js';
import { conditionsOf } from './task-conditions.js';

type Row = Readonly<Record<string, unknown>>;

/** How changes by operators are announced to workers. */
export interface AdminBell {
  readonly channel: string;
  /** Routes were paused or resumed, or running tasks cancelled. */
  readonly changedText: string;
  /** Undefined where the database alone rings. */
  readonly beside?: RingBeside | undefined;
}

/** {@link TaskAdmin} in PostgreSQL, on the connections that also insert: handlers that hold the pool do not delay it. */
export class PostgresAdmin implements TaskAdmin {
  readonly #access: QueueAccess;
  readonly #bell: AdminBell;
  readonly #blocks: Readonly<Record<BulkKind, (selection: TaskSelection, place: BulkPlace) => Promise<Row>>>;

  constructor(access: QueueAccess, bell: AdminBell) {
    this.#access = access;
    this.#bell = bell;
    this.#blocks = {
      retry: (selection, place) => this.#retryBlock(selection, place),
      cancel: (selection, place) => this.#cancelBlock(selection, place),
      delete: (selection, place) => this.#deleteBlock(selection, place),
    };
  }

  async ping(): Promise<void> {
    await this.#ask('select 1', []);
  }

  async notifyUsage(): Promise<number> {
    const [row] = await this.#ask('select pg_notification_queue_usage() as usage', []);
    return Number(row?.['usage']);
  }

  async counts(since: string | null): Promise<readonly TaskCount[]> {
    const rows = await this.#read(sql.countTasks(this.#tables), [since]);
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      status: String(row['status']),
      count: Number(row['n']),
    }));
  }

  async oldestPending(): Promise<WaitingTask | undefined> {
    const [row] = await this.#read(sql.oldestPending(this.#tables), []);
    return row && { task: readTaskRecord(row), waitingMs: Number(row['waiting_ms']) };
  }

  async list(selection: TaskSelection, page: ListedPage): Promise<readonly TaskRecord[]> {
    const { conditions, values } = conditionsOf(selection, 3, this.#tables);
    const text = sql.listTasks(this.#tables, conditions, page.payload);
    const rows = await this.#read(text, [String(page.greatest), page.limit + 1, ...values]);
    return rows.map(readTaskRecord);
  }

  async attemptsOf(id: string, withPayload: boolean): Promise<readonly TaskRecord[]> {
    return (await this.#read(sql.taskAttempts(this.#tables, withPayload), [id])).map(readTaskRecord);
  }

  async deadTasksOf(firstAttemptId: string): Promise<readonly string[]> {
    const rows = await this.#ask(sql.deadChains(this.#tables), [firstAttemptId]);
    return rows.map((row) => String(row['id']));
  }

  async retry(id: string): Promise<string | undefined> {
    return this.#rung(idOf(await this.#ask(sql.retryTask(this.#tables), [id])));
  }

  async retryEdited(id: string, { payload, hash, by, reason }: EditedPayload): Promise<string | undefined> {
    return this.#rung(idOf(await this.#ask(sql.retryEdited(this.#tables), [id, payload, hash, by, reason])));
  }

  async runNow(id: string): Promise<boolean> {
    const [moved] = await this.#change(id, sql.runTaskNow(this.#tables), [this.#bell.channel]);
    return this.#rung(moved) !== undefined;
  }

  async cancel(
    target: CancelTarget,
    cancellation: Cancellation,
    tx?: SqlHandle,
  ): Promise<readonly CancelledAttempt[]> {
    const text = cancelTasks(this.#tables, target);
    const values = cancelValues(target, cancellation, this.#bell);
    const [id, ...others] = 'ids' in target ? target.ids : [];
    const cancelled = await this.#inTurn(
      others.length === 0 ? id : undefined,
      async (handle) => {
        const look = async () => (await askHandle(handle, text, values)).map(readCancelled);
        // What failed while the first look waited for its row has gone on: only a second one sees its next attempt.
        const found = [...(await look()), ...(await look())];
        return [...new Map(found.map((one) => [one.firstAttemptId, one])).values()];
      },
      tx,
    );
    if (!tx && cancelled.some(({ runs }) => runs)) this.#bell.beside?.({ changed: true });
    return cancelled;
  }

  async bury(id: string, message: string): Promise<string | undefined> {
    return this.#rung(idOf(await this.#change(id, sql.buryTask(this.#tables), [message])));
  }

  async delete(firstAttemptId: string): Promise<number> {
    const { attempts } = await this.#inTurn(firstAttemptId, (tx) =>
      deleteWhole(tx, this.#tables, [firstAttemptId], { skips: false }),
    );
    return attempts;
  }

  async countMeant(kind: BulkKind, selection: TaskSelection, timeoutMs: number): Promise<MeantTasks> {
    const { conditions, values } = conditionsOf(selection, 1, this.#tables);
    const text = bulk.countMeant(this.#tables, kind, conditions);
    const rows = await readInTransaction<Row[]>(this.#access.inOwnTransaction, async (tx, read) => {
      await tx.query(`set local statement_timeout = ${Math.round(timeoutMs)}`);
      return (await read(tx, text, [...values])).rows;
    });
    const last = rows.map((row) => BigInt(String(row['last']))).reduce((a, b) => (a > b ? a : b), 0n);
    return {
      counts: rows.map((row) => ({
        topic: readText(row['processo']),
        subscriptionId: readText(row['subscriber_id']),
        count: Number(row['n']),
        oldest: readDate(row['oldest']),
      })),
      lastId: String(last),
    };
  }

  runBlock(kind: BulkKind, selection: TaskSelection, place: BulkPlace): Promise<BulkBlock> {
    return runBlockWithin(place, {
      run: (part) => this.#runBlock(kind, selection, part),
      first: (part) => this.#firstOfBlock(kind, selection, part),
      classify: classifyError,
    });
  }

  async #runBlock(kind: BulkKind, selection: TaskSelection, place: BulkPlace): Promise<BulkBlock> {
    const row = await this.#blocks[kind](selection, place);
    if (kind === 'retry' && Number(row['done']) > 0) this.#rung(row);
    return {
      done: Number(row['done'] ?? 0),
      after: Number(row['chosen']) < place.rows ? null : String(row['last']),
    };
  }

  async #firstOfBlock(
    kind: BulkKind,
    selection: TaskSelection,
    place: BulkPlace,
  ): Promise<string | undefined> {
    const { conditions, values } = conditionsOf(selection, 4, this.#tables);
    const text = bulk.firstOfBlock(this.#tables, kind, conditions);
    return idOf(await this.#ask(text, [...blockOf({ ...place, rows: 1 }), ...values]));
  }

  async pause(route: Route): Promise<void> {
    await this.#ask(sql.pauseRoute(this.#tables), [route, this.#bell.channel, this.#bell.changedText]);
    this.#bell.beside?.({ changed: true });
  }

  async resume(route: Route): Promise<void> {
    await this.#ask(sql.resumeRoute(this.#tables), [route, this.#bell.channel, this.#bell.changedText]);
    this.#bell.beside?.({ changed: true });
  }

  async paused(): Promise<readonly Pause[]> {
    const rows = await this.#read(sql.listPaused(this.#tables), []);
    return rows.map((row) =>
      pauseOf(String(row['route']), readDate(row['paused_at']) ?? new Date(Number.NaN)),
    );
  }

  async #retryBlock(selection: TaskSelection, place: BulkPlace): Promise<Row> {
    const { conditions, values } = conditionsOf(selection, 4, this.#tables);
    const text = bulk.retryMany(this.#tables, conditions);
    // A transaction of its own: the error of a statement alone comes before the server has let its rows go, and the next try, on
    // another connection, would skip them as locked.
    return this.#access.inOwnTransaction(async (tx) =>
      firstRow((await tx.query(text, [...blockOf(place), ...values]).catch(this.#explain)).rows),
    );
  }

  async #cancelBlock(selection: TaskSelection, place: BulkPlace): Promise<Row> {
    const { conditions, values } = conditionsOf(selection, 6, this.#tables);
    const { message, by } = place.cancellation;
    const parameters = [...blockOf(place), message, by, ...values];
    return this.#inTurn(undefined, async (tx) =>
      firstRow((await tx.query(bulk.cancelMany(this.#tables, conditions), parameters)).rows),
    );
  }

  async #deleteBlock(selection: TaskSelection, place: BulkPlace): Promise<Row> {
    const { conditions, values } = conditionsOf(selection, 4, this.#tables);
    const text = bulk.chooseDeletable(this.#tables, conditions);
    return this.#inTurn(undefined, async (tx) => {
      const block = firstRow((await tx.query(text, [...blockOf(place), ...values])).rows);
      const firstIds = block['tasks'] as readonly string[];
      const { done } = await deleteWhole(tx, this.#tables, firstIds, { skips: true });
      return { ...block, done };
    });
  }

  /** Parameter 1 of the statement is the id. */
  #change(id: string, text: string, values: unknown[]): Promise<readonly Row[]> {
    return this.#inTurn(id, async (tx) => (await tx.query(text, [id, ...values]).catch(this.#explain)).rows);
  }

  /**
   * Changes a task that waits, or many (undefined), in a transaction: its own, or the caller's. Beside workers of nsj-queue-lib in
   * turn with their notify job.
   */
  #inTurn<T>(id: string | undefined, work: (tx: SqlHandle) => Promise<T>, tx?: SqlHandle): Promise<T> {
    const { interop, inserts: handle, inOwnTransaction } = this.#access;
    const run: RunTransaction = tx ? (own) => own(tx) : (own) => inOwnTransaction(own);
    return interop ? changeInTurn(run, handle, this.#tables, id, work) : run(work);
  }

  /** Rings the other bell when something is due; the database's own has rung. */
  #rung<T>(changed: T): T {
    if (changed !== undefined) this.#bell.beside?.({});
    return changed;
  }

  readonly #explain = (error: unknown): never => {
    throw explainTakenId(error, this.#tables);
  };

  get #tables(): QueueTables {
    return this.#access.schema.tables;
  }

  /** Texts that cannot be sent are shown anyway: see {@link queryReadable}. */
  async #read(text: string, values: unknown[]): Promise<readonly Row[]> {
    return (await queryReadable(this.#access.inserts, text, values)).rows;
  }

  async #ask(text: string, values: unknown[]): Promise<readonly Row[]> {
    const { rows } = await this.#access.inserts.query(text, values).catch(this.#explain);
    return rows;
  }
}

function idOf([row]: readonly Row[]): string | undefined {
  return row && String(row['id']);
}

function firstRow([row]: readonly Row[]): Row {
  return row ?? {};
}

/** The first three parameters of a block's statement. */
function blockOf({ after, lastId, rows }: BulkPlace): unknown[] {
  return [after, lastId, rows];
}
