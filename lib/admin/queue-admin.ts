import { haltText, pausedText } from '../coordination/ringer.js';
import { readText, readTaskRecord } from '../storage/columns.js';
import {
  buryTask,
  cancelTask,
  countTasks,
  deadChains,
  listPaused,
  listTasks,
  pauseRoute,
  oldestPending,
  resumeRoute,
  retryTask,
  runTaskNow,
} from '../storage/postgres/statements/admin.js';
import { unservedMs } from '../storage/waiting-route.js';
import { namesOfRoute } from '../storage/route.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { haltWorkers } from '../storage/postgres/statements/workers.js';
import { longestAgeMs, longestWaitMs, messageOf, readDuration, readOptions } from './admin-input.js';
import { BulkRun, type BulkKind, type BulkRunParts } from './bulk-run.js';
import { deleteWhole } from './delete-tasks.js';
import { readNote, retryWithPayload } from './edited-retry.js';
import { readPage, type PageOptions } from './page-options.js';
import type { QueueAdminParts } from './queue-admin-parts.js';
import { readPause, routeOf, type Pausable, type Pause } from './pauses.js';
import { SubscriptionAdmin } from './subscription-admin.js';
import { filterSql, readId, readTime, type TaskFilter } from './task-filter.js';
import {
  asEnded,
  type EndedTask,
  type TaskCount,
  type TaskHistory,
  type TaskPage,
  type UnservedRoute,
  type WaitingTask,
} from './task-answers.js';
import { findAttempts, refusal } from './task-attempts.js';

/**
 * What an operator wants to know and do. Every change is one guarded statement, so it may be asked for while workers run;
 * what cannot be done is an error that says where the task stands.
 *
 * @example
 * constructor(private readonly admin: QueueAdmin) {}
 * const { tasks } = await this.admin.list({ status: 'failed', latest: true });
 */
export class QueueAdmin {
  /** The subscriptions table. */
  readonly subscriptions: SubscriptionAdmin;
  readonly #parts: QueueAdminParts;

  /** @hidden */
  constructor(parts: QueueAdminParts) {
    this.#parts = parts;
    this.subscriptions = new SubscriptionAdmin(parts.subscriptions, parts.endpoints);
  }

  /**
   * Counts tasks as they stand now, by topic, subscription and status.
   *
   * @param options.since counts what has ended only when it was due since then. Default: all there is, which reads the
   * whole table
   */
  async counts(options: { readonly since?: Date | undefined } = {}): Promise<readonly TaskCount[]> {
    const { since } = readOptions(options, ['since']);
    const from = since === undefined ? null : readTime('since', since);
    const rows = await this.#read(countTasks(this.#parts.tables), [from]);
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      status: String(row['status']),
      count: Number(row['n']),
    }));
  }

  /** The pending attempt that has been due for longest; undefined when none is. */
  async oldestPending(): Promise<WaitingTask | undefined> {
    const [row] = await this.#read(oldestPending(this.#parts.tables), []);
    return row && { task: readTaskRecord(row), waitingMs: Number(row['waiting_ms']) };
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#ask('select 1', []);
  }

  /**
   * True when a task has been due for longer than that and still waits, though nobody has paused its topic or subscription.
   * While some worker runs, tasks that none of them serves do not count: {@link unserved} answers these.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async hasWaited(olderThanMs: number): Promise<boolean> {
    readDuration('olderThanMs', olderThanMs, longestAgeMs);
    const waiting = await this.#parts.waiting();
    return waiting.some(
      ({ served, workerless, waitingMs }) => (served || workerless) && waitingMs > olderThanMs,
    );
  }

  /**
   * Topics and subscriptions whose tasks have waited for 15 s or longer while no running worker serves them: a name that
   * is misspelt, or a worker that was not started. Always empty with `interop`: workers of nsj-queue-lib take every topic
   * and register nowhere.
   */
  async unserved(): Promise<readonly UnservedRoute[]> {
    const waiting = await this.#parts.waiting();
    return waiting
      .filter(({ served, waitingMs }) => !served && waitingMs >= unservedMs)
      .map(({ route, waitingMs }) => ({ ...namesOfRoute(route), waitingMs: Math.round(waitingMs) }));
  }

  /**
   * Lists attempts, the newest first.
   *
   * @param options.limit rows of a page, at most 1,000. Default 50
   * @param options.after `next` of the page before
   * @param options.payload false leaves payloads in the database: each is null then. Default true
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async list(filter: TaskFilter = {}, options: PageOptions = {}): Promise<TaskPage> {
    const { limit, greatest, payload } = readPage(options);
    const { conditions, values } = filterSql(filter, 3, this.#parts.tables);
    const text = listTasks(this.#parts.tables, conditions, payload);
    const rows = await this.#read(text, [String(greatest), limit + 1, ...values]);
    const tasks = rows.slice(0, limit).map(readTaskRecord);
    return { tasks, next: rows.length > limit ? tasks.at(-1)?.id : undefined };
  }

  /**
   * Everything that happened to a task.
   *
   * @param id of any of its attempts
   * @param options.payload as for {@link list}
   * @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async find(id: string, options: { readonly payload?: boolean | undefined } = {}): Promise<TaskHistory> {
    const { payload = true } = readOptions(options, ['payload']);
    const { current, attempts } = await findAttempts(this.#parts, id, payload === true);
    const dead = await this.#ask(deadChains(this.#parts.tables), [current.firstAttemptId]);
    return { current, attempts, deadIds: dead.map((row) => String(row['id'])) };
  }

  /**
   * Starts a failed task anew, with all its attempts before it: its key, payload and history stay. A task that ran out
   * of attempts has a dead task besides, which has an id of its own and is retried by that.
   *
   * @param id of any of its attempts
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE` unless the task has failed, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async retry(id: string): Promise<string> {
    const [row] = await this.#ask(retryTask(this.#parts.tables), [readId(id)]);
    if (row) return String(row['id']);
    throw await refusal(this.#parts, id, 'retried', 'only a task that has failed can be');
  }

  /**
   * Starts a failed task anew with another payload, which is checked as that of an insert is. The attempts before keep theirs;
   * the metadata of the new one tells of it: `{ "tarefa:edits": [{ at, by, reason, after }] }`, where `after` is the id of the
   * attempt that it follows.
   *
   * @param id of any of its attempts
   * @param payload as `insertTask()` takes it
   * @param options.by who edits it, at most 200 characters
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE` unless the task has failed, of a delivery, and with `interop`; `PAYLOAD_INVALID`,
   * `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async retryEdited(
    id: string,
    payload: unknown,
    options: { readonly by?: string | null | undefined; readonly reason?: string | null | undefined } = {},
  ): Promise<string> {
    const note = readNote(readOptions(options, ['by', 'reason']));
    const { current } = await findAttempts(this.#parts, readId(id));
    const retried = await retryWithPayload(this.#parts, current, payload, note);
    if (retried !== undefined) return retried;
    throw await refusal(this.#parts, id, 'retried', 'only a task that has failed can be');
  }

  /**
   * Makes a task due now that waits for its time or for its next attempt.
   *
   * @param id of any of its attempts
   * @throws {TarefaError} `TASK_STATE` unless it is scheduled, `QUEUE_BUSY`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async runNow(id: string): Promise<void> {
    const { tables, channel } = this.#parts;
    const rows = await this.#change(id, runTaskNow(tables), [channel]);
    if (rows.length === 0)
      throw await refusal(this.#parts, id, 'run now', 'only a task that is scheduled can be');
  }

  /**
   * Ends a task that waits for its first or its next attempt. It counts as failed and gets no dead task.
   *
   * @param id of any of its attempts
   * @param reason recorded as its message
   * @throws {TarefaError} `TASK_STATE` when it runs or has ended, `QUEUE_BUSY`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async cancel(id: string, reason = 'cancelled'): Promise<void> {
    const rows = await this.#change(id, cancelTask(this.#parts.tables), [messageOf(reason)]);
    if (rows.length === 0) throw await refusal(this.#parts, id, 'cancelled', 'only a task that waits can be');
  }

  /**
   * Ends a task that waits for its first or its next attempt, as if it had run out of attempts: its dead task starts at
   * once.
   *
   * @param id of any of its attempts
   * @param reason recorded as its message
   * @returns id of the dead task
   * @throws {TarefaError} `TASK_STATE` when it runs, has ended or is a dead task itself, `QUEUE_BUSY`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async bury(id: string, reason = 'buried'): Promise<string> {
    const [row] = await this.#change(id, buryTask(this.#parts.tables), [messageOf(reason)]);
    if (row) return String(row['id']);
    throw await refusal(this.#parts, id, 'buried', 'only a task that waits can be, and no dead task');
  }

  /**
   * Deletes a task that does not run, with all its attempts and the dead tasks that it left. What it had to do is not done any
   * more, nothing remembers it, and an equal one may be inserted again. Deliveries of a publication are tasks of their own
   * and stay.
   *
   * @param id of any of its attempts
   * @returns how many attempts it was, those of its dead tasks included
   * @throws {TarefaError} `TASK_STATE` when it or its dead task runs, `QUEUE_BUSY`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async delete(id: string): Promise<number> {
    const { tables, change } = this.#parts;
    const { firstAttemptId } = (await findAttempts(this.#parts, readId(id))).current;
    const { attempts } = await change(firstAttemptId, (tx) =>
      deleteWhole(tx, tables, [firstAttemptId], { skips: false }),
    );
    if (attempts > 0) return attempts;
    throw await refusal(this.#parts, id, 'deleted', 'only one can be that does not run, nor its dead task');
  }

  /**
   * Does the same with many tasks at once: counts them first, then retries, cancels or deletes them in blocks.
   *
   * @param options.reason of `cancel`: recorded as the message of each. Default `cancelled`
   * @example
   * const run = admin.bulk('retry');
   * const plan = await run.plan({ topic: 'send-receipt' });
   * for await (const done of run.run(plan)) log(`${done} more of ${plan.total}`);
   */
  bulk(kind: BulkKind, options: { readonly reason?: string | undefined } = {}): BulkRun {
    const { handle, tables, transaction, change } = this.#parts;
    const { reason = 'cancelled' } = readOptions(options, ['reason']);
    const turn: BulkRunParts['turn'] = (work) => change(undefined, work);
    return new BulkRun(kind, { handle, tables, transaction, turn, reason: messageOf(reason) });
  }

  /**
   * Resolves with the last attempt once a task has ended, whichever worker runs it: succeeded, or failed without a next
   * attempt.
   *
   * @typeParam Result what its handler returns, for `returned`
   * @param id of any of its attempts
   * @param options.timeoutMs how long to wait, at most 24 days. Default 30 s
   * @example const { returned } = await admin.waitFor<{ total: number }>(id);
   * @throws {TarefaError} `WAIT_TIMEOUT`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async waitFor<Result = unknown>(
    id: string,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<EndedTask<Result>> {
    const { timeoutMs: given = 30_000 } = readOptions(options, ['timeoutMs']);
    const timeoutMs = readDuration('timeoutMs', given, longestWaitMs);
    const { firstAttemptId } = (await findAttempts(this.#parts, id)).current;
    return this.#parts.waiter.wait(firstAttemptId, timeoutMs, async () => {
      const { current } = await findAttempts(this.#parts, firstAttemptId, true);
      const ended = current.status === 'succeeded' || (current.status === 'failed' && !current.retried);
      return ended ? asEnded<Result>(current) : undefined;
    });
  }

  /**
   * Keeps workers from starting tasks of that topic, or deliveries of that subscription, as soon as they hear of it, a
   * moment later; what runs goes on, and inserts are accepted. Pausing what is paused changes nothing.
   *
   * @example await admin.pause({ topic: 'send-receipt' });
   */
  async pause(what: Pausable): Promise<void> {
    const { tables, channel } = this.#parts;
    await this.#ask(pauseRoute(tables), [routeOf(what), channel, pausedText]);
  }

  /** Ends a pause: workers go on at once. */
  async resume(what: Pausable): Promise<void> {
    const { tables, channel } = this.#parts;
    await this.#ask(resumeRoute(tables), [routeOf(what), channel, pausedText]);
  }

  async paused(): Promise<readonly Pause[]> {
    const rows = await this.#read(listPaused(this.#parts.tables), []);
    return rows.map(readPause);
  }

  /**
   * Tells all workers that run now to stop after their current work; one that does not listen sees it at its next poll.
   * Answers their ids. Needs the right to update `<table>_worker`.
   */
  async halt(): Promise<readonly string[]> {
    const [row] = await this.#ask(haltWorkers(this.#parts.tables), [this.#parts.channel, haltText]);
    return (row?.['told'] as readonly string[] | undefined) ?? [];
  }

  /** Deletes old history now, by the queue's own rules; answers how many attempts. */
  purge(): Promise<number> {
    return this.#parts.purge();
  }

  /** Parameter 1 is the id. */
  async #change(id: string, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    const attemptId = readId(id);
    return this.#parts.change(attemptId, async (sql) => (await sql.query(text, [attemptId, ...values])).rows);
  }

  /** What cannot be sent is shown all the same: see {@link queryReadable}. */
  async #read(text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await queryReadable(this.#parts.handle, text, values)).rows;
  }

  async #ask(text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#parts.handle.query(text, values)).rows;
  }
}
