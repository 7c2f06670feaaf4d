import type { RingRequest } from '../../coordination/ring.js';
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
import type { TaskRecord } from '../../task.js';
import type { Route } from '../attempt.js';
import { runBlockWithin } from '../bulk-blocks.js';
import type { Cancellation, CancelledAttempt, CancelTarget } from '../cancellation.js';
import { readDate, readTaskRecord, readText } from '../columns.js';
import { withEdit } from '../edited-metadata.js';
import { pauseOf, type Pause } from '../pause.js';
import type { SqlHandle } from '../sql-handle.js';
import type { TaskSelection } from '../task-selection.js';
import { changedBy, idsOf, rowsOf } from './administration/answered.js';
import { cancelTasks } from './administration/cancel-tasks.js';
import { deleteWhole } from './administration/delete-whole.js';
import { jsonIds } from './administration/id-list.js';
import { momentOf } from './administration/moments.js';
import { restart } from './administration/restart.js';
import { isTaken } from './administration/taken.js';
import type { TextRow } from './connections/answers.js';
import type { Run } from './connections/transactions.js';
import { translated } from './dialect.js';
import type { QueueTables } from './identifiers.js';
import type { MysqlAccess } from './mysql-access.js';
import { classifyError } from './mysql-errors.js';
import { limited } from './reports/limited.js';
import * as sql from './statements/admin.js';
import * as bulk from './statements/bulk.js';
import { cancelLocked } from './statements/cancel.js';
import { conditionsOf } from './task-conditions.js';

/** Tells workers what an operator has changed, after its commit: no statement can ring. */
export interface AdminBell {
  /** Routes were paused or resumed, or running tasks cancelled. */
  changed(): Promise<void>;
  /** Tasks are due. */
  ring(ring: RingRequest): void;
}

/** {@link TaskAdmin} in MySQL and MariaDB, on the connections of the library: handlers that hold all of theirs do not delay it. */
export class MysqlAdmin implements TaskAdmin {
  readonly #access: MysqlAccess;
  readonly #bell: AdminBell;

  constructor(access: MysqlAccess, bell: AdminBell) {
    this.#access = access;
    this.#bell = bell;
  }

  async ping(): Promise<void> {
    await this.#ask('select 1');
  }

  async notifyUsage(): Promise<undefined> {}

  async counts(since: string | null): Promise<readonly TaskCount[]> {
    const values = since === null ? [] : [momentOf(since)];
    const rows = await this.#ask(sql.countTasks(this.#tables, since === null), values);
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      status: String(row['status']),
      count: Number(row['n']),
    }));
  }

  async oldestPending(): Promise<WaitingTask | undefined> {
    const [row] = await this.#ask(sql.oldestPending(this.#tables));
    return row && { task: readTaskRecord(row), waitingMs: Number(row['waiting_ms']) };
  }

  async list(selection: TaskSelection, page: ListedPage): Promise<readonly TaskRecord[]> {
    const meant = conditionsOf(selection, this.#tables);
    const text = sql.listTasks(this.#tables, meant, page.payload);
    const { beginValues, values } = meant;
    const rows = await this.#ask(text, [...beginValues, String(page.greatest), ...values, page.limit + 1]);
    return rows.map(readTaskRecord);
  }

  async attemptsOf(id: string, withPayload: boolean): Promise<readonly TaskRecord[]> {
    return (await this.#ask(sql.taskAttempts(this.#tables, withPayload), [id, id])).map(readTaskRecord);
  }

  async deadTasksOf(firstAttemptId: string): Promise<readonly string[]> {
    return idsOf(await this.#ask(sql.deadChains(this.#tables), [firstAttemptId]));
  }

  async retry(id: string): Promise<string | undefined> {
    return this.#retry(id, sql.hasFailedForGood, (run, failed) => restart(run, this.#tables, idsOf(failed)));
  }

  /** A delivery carries what was published, and is left alone. */
  async retryEdited(id: string, edited: EditedPayload): Promise<string | undefined> {
    const condition = `${sql.hasFailedForGood} and f.subscriber_id is null`;
    return this.#retry(id, condition, async (run, failed) => {
      const [one] = failed;
      if (!one) return [];
      const { payload, hash } = edited;
      const edit = { ...edited, at: String(one['now']), after: String(one['id']) };
      const changes = { payload, hash, metadata: withEdit(one['metadados'], edit) };
      return restart(run, this.#tables, idsOf([one]), changes);
    });
  }

  async runNow(id: string): Promise<boolean> {
    const moved = await this.#change(id, `f.status = 'agendada'`, async (run, chosen) => {
      const list = [jsonIds(idsOf(chosen))];
      await run(sql.runNow(this.#tables), list);
      await run(sql.linkPrevious(this.#tables), list);
      return true;
    });
    return this.#rung(moved) ?? false;
  }

  async cancel(
    target: CancelTarget,
    cancellation: Cancellation,
    tx?: SqlHandle,
  ): Promise<readonly CancelledAttempt[]> {
    const cancel = (handle: SqlHandle): Promise<readonly CancelledAttempt[]> =>
      cancelTasks(handle, this.#tables, target, cancellation);
    // Before it has committed, a ring would be heard too early: then workers see it at their next poll.
    if (tx) return cancel(translated(tx, this.#access.dialect));
    const cancelled = await this.#access.own.transaction((run) => cancel(handleOf(run)));
    if (cancelled.some(({ runs }) => runs)) await this.#bell.changed();
    return cancelled;
  }

  async bury(id: string, message: string): Promise<string | undefined> {
    const dead = await this.#change(id, `${sql.isWaiting} and not f.dead`, async (run, [one]) => {
      const own = String(one?.['id']);
      await run(sql.endBuried(this.#tables), [message, own]);
      // One may have been inserted by hand before.
      await run(sql.insertDead(this.#tables), [own]);
      const [first] = await rowsOf(run, sql.deadOf(this.#tables), [own]);
      return readText(first?.['id']) ?? undefined;
    });
    return this.#rung(dead);
  }

  async delete(firstAttemptId: string): Promise<number> {
    const { attempts } = await this.#access.own.transaction((run) =>
      deleteWhole(run, this.#tables, [firstAttemptId], { skips: false }),
    );
    return attempts;
  }

  async countMeant(kind: BulkKind, selection: TaskSelection, timeoutMs: number): Promise<MeantTasks> {
    const meant = conditionsOf(selection, this.#tables);
    const text = bulk.countMeant(this.#tables, kind, meant);
    const values = [...meant.beginValues, ...meant.values];
    const rows = await limited(this.#access.own, timeoutMs, (run) => rowsOf(run, text, values));
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
      first: async (part) => idsOf(await this.#choose(kind, selection, { ...part, rows: 1 }))[0],
      classify: classifyError,
    });
  }

  async #runBlock(kind: BulkKind, selection: TaskSelection, place: BulkPlace): Promise<BulkBlock> {
    const chosen = await this.#choose(kind, selection, place);
    const done =
      chosen.length === 0
        ? 0
        : await this.#access.own.transaction((run) => this.#doBlock(run, kind, chosen, place.cancellation));
    if (kind === 'retry' && done > 0) this.#rung(done);
    return { done, after: chosen.length < place.rows ? null : String(chosen.at(-1)?.['id']) };
  }

  #choose(kind: BulkKind, selection: TaskSelection, place: BulkPlace): Promise<readonly TextRow[]> {
    const meant = conditionsOf(selection, this.#tables);
    const { after, lastId, rows } = place;
    const values = [...meant.beginValues, after, lastId, ...meant.values, rows];
    return this.#ask(bulk.chooseBlock(this.#tables, kind, meant), values);
  }

  async pause(route: Route): Promise<void> {
    try {
      await this.#access.own.query(sql.pauseRoute(this.#tables), [route]);
    } catch (error) {
      if (isTaken(error)) return;
      throw error;
    }
    await this.#bell.changed();
  }

  async resume(route: Route): Promise<void> {
    const { changed } = await this.#access.own.query(sql.resumeRoute(this.#tables), [route]);
    if (changed > 0) await this.#bell.changed();
  }

  async paused(): Promise<readonly Pause[]> {
    const rows = await this.#ask(sql.listPaused(this.#tables));
    return rows.map((row) =>
      pauseOf(String(row['route']), readDate(row['paused_at']) ?? new Date(Number.NaN)),
    );
  }

  /** What another session has locked, or has changed since it was chosen, is left out. */
  async #doBlock(
    run: Run,
    kind: BulkKind,
    chosen: readonly TextRow[],
    { message, by }: Cancellation,
  ): Promise<number> {
    if (kind === 'delete') {
      const firstIds = [...new Set(chosen.map((row) => String(row['first_id'])))];
      return (await deleteWhole(run, this.#tables, firstIds, { skips: true })).done;
    }
    const lock = sql.lockAttempts(this.#tables, bulk.meant[kind], { skips: true });
    const ids = idsOf(await rowsOf(run, lock, [jsonIds(idsOf(chosen))]));
    if (kind === 'retry') return (await restart(run, this.#tables, ids)).length;
    if (ids.length === 0) return 0;
    return changedBy(run, cancelLocked(this.#tables, ids.length), [message, by, ...ids]);
  }

  async #retry(
    id: string,
    condition: string,
    start: (run: Run, failed: readonly TextRow[]) => Promise<readonly string[]>,
  ): Promise<string | undefined> {
    const restarted = await this.#change(id, condition, start);
    return this.#rung(restarted?.[0]);
  }

  /**
   * Changes what of a task meets a condition, in one transaction: its attempts are found first, then locked by their keys.
   *
   * @param id of any of its attempts
   * @returns undefined when there is nothing
   */
  async #change<T>(
    id: string,
    condition: string,
    work: (run: Run, chosen: readonly TextRow[]) => Promise<T>,
  ): Promise<T | undefined> {
    const lock = sql.lockAttempts(this.#tables, condition, { fields: sql.ofEdits });
    return this.#access.own.transaction(async (run) => {
      const found = await rowsOf(run, sql.findAttempts(this.#tables), [id, id]);
      if (found.length === 0) return undefined;
      const chosen = await rowsOf(run, lock, [jsonIds(idsOf(found))]);
      return chosen.length === 0 ? undefined : work(run, chosen);
    });
  }

  /** Rings when something is due. */
  #rung<T>(changed: T): T {
    if (changed !== undefined) this.#bell.ring({});
    return changed;
  }

  get #tables(): QueueTables {
    return this.#access.tables;
  }

  async #ask(text: string, values: readonly unknown[] = []): Promise<readonly TextRow[]> {
    return (await this.#access.own.query(text, values)).rows;
  }
}

/** Statements of a transaction of the library's, as callers' drivers take them. */
function handleOf(run: Run): SqlHandle {
  return { query: async (text, values = []) => ({ rows: [...(await rowsOf(run, text, values))] }) };
}
