import type { QueueEvents } from '../events.js';
import type { TaskAdmin } from '../storage/admin.js';
import type { QueueDatabase } from '../storage/database.js';
import type { Inconsistency } from '../storage/inconsistencies.js';
import type { WorkerStall } from '../storage/status-report.js';
import { readId } from '../values/attempt-id.js';
import { longestAgeMs, messageOf, readDuration, readOptions } from './admin-input.js';
import { BulkRun, type BulkKind } from './bulk-run.js';
import { cancelTasks } from './cancel-tasks.js';
import {
  readCancellation,
  type BulkCancelOptions,
  type Cancellable,
  type CancelledTasks,
  type CancelOptions,
} from './cancellation.js';
import { readCheckOptions, type CheckOptions } from './check-options.js';
import { readNote, retryWithPayload, type PayloadRules } from './edited-retry.js';
import { readPage, type PageOptions } from './page-options.js';
import { pausableRoute, type Pausable, type Pause } from './pauses.js';
import { StatusReader, type QueueStatus, type StatusOptions } from './queue-status.js';
import { ScheduleAdmin } from './schedule-admin.js';
import { SubscriptionAdmin } from './subscription-admin.js';
import type {
  EndedTask,
  TaskCount,
  TaskHistory,
  TaskPage,
  UnservedRoute,
  WaitingTask,
} from './task-answers.js';
import { findAttempts, refusal, refusedRetry } from './task-attempts.js';
import { readFlag, readSelection, readTime, type TaskFilter } from './task-filter.js';
import type { TaskWaiter } from './task-waiter.js';
import { hasWaited, unservedOf } from './waiting.js';
import { waitForEnd, type WaitOptions } from './wait-for-end.js';

interface QueueAdminParts {
  readonly database: Pick<
    QueueDatabase,
    'admin' | 'reports' | 'workers' | 'subscriptions' | 'endpoints' | 'schedules' | 'inserts' | 'classify'
  >;
  /** Why the worker of this process takes nothing. */
  readonly stalled: () => WorkerStall | undefined;
  /** Checked against when a payload is edited. */
  readonly rules: PayloadRules;
  /** History older than this may have been purged. */
  readonly purgeMaxAgeDays: number;
  readonly waiter: TaskWaiter;
  readonly events: QueueEvents;
  /** Tells workers that schedules have changed. */
  readonly ring: () => Promise<void>;
  /** Runs a round of the purge. */
  readonly purge: () => Promise<number>;
}

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
  /** What recurs. */
  readonly schedules: ScheduleAdmin;
  readonly #parts: QueueAdminParts;
  readonly #tasks: TaskAdmin;
  readonly #status: StatusReader;

  /** @hidden */
  constructor(parts: QueueAdminParts) {
    const { database, rules, purgeMaxAgeDays, stalled, ring } = parts;
    const { schedules, inserts } = database;
    this.#parts = parts;
    this.#tasks = database.admin;
    this.#status = new StatusReader(database, purgeMaxAgeDays, stalled);
    this.subscriptions = new SubscriptionAdmin(database.subscriptions, database.endpoints);
    this.schedules = new ScheduleAdmin(schedules, inserts, rules, ring);
  }

  /**
   * Counts tasks as they stand now, by topic, subscription and status.
   *
   * @param options.since counts what has ended only when it was due since then. Default: all there is, which reads the
   * whole table
   */
  async counts(options: { readonly since?: Date | undefined } = {}): Promise<readonly TaskCount[]> {
    const { since } = readOptions(options, ['since']);
    return this.#tasks.counts(since === undefined ? null : readTime('since', since));
  }

  /**
   * How the queue stands and what of it needs attention, as `tarefa status` and the dashboard tell it, at about the same cost for any
   * size of the table: counts stop at a limit and say so; what takes too long, or may not be read, is named in `unknown`.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async status(options: StatusOptions = {}): Promise<QueueStatus> {
    const { since, purgeable } = readOptions(options, ['since', 'purgeable']);
    const from = since === undefined ? undefined : new Date(readTime('since', since));
    return this.#status.read({ since: from, purgeable: readFlag('purgeable', purgeable) });
  }

  /** The pending attempt that has been due for longest; undefined when none is. */
  async oldestPending(): Promise<WaitingTask | undefined> {
    return this.#tasks.oldestPending();
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#tasks.ping();
  }

  /**
   * How full PostgreSQL's queue of notifications is, from 0 to 1, for the whole server: when it is full, commits that notify are
   * refused. Undefined on other databases.
   */
  async notifyUsage(): Promise<number | undefined> {
    return this.#tasks.notifyUsage();
  }

  /**
   * True when a task has been due for longer than that and still waits, though its topic or subscription is not paused.
   * While some worker runs, tasks that none of them serves do not count: {@link unserved} answers these.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async hasWaited(olderThanMs: number): Promise<boolean> {
    readDuration('olderThanMs', olderThanMs, longestAgeMs);
    return hasWaited(await this.#parts.database.reports.waitingRoutes(), olderThanMs);
  }

  /**
   * Topics and subscriptions whose tasks have waited for 15 s or longer while no running worker serves them: a name that
   * is misspelt, or a worker that was not started. Always empty with `interop`: workers of nsj-queue-lib take every topic
   * and register nowhere.
   */
  async unserved(): Promise<readonly UnservedRoute[]> {
    return unservedOf(await this.#parts.database.reports.waitingRoutes());
  }

  /**
   * Looks for rows that contradict each other: an attempt that was to be retried without its next attempt, a task that ran out
   * of attempts without its dead task, a publication with fewer deliveries than it says, an attempt that runs while no worker
   * holds it. Bugs, triggers and changes by hand leave such; so does `delete`, of a dead task or a delivery. It changes nothing,
   * reads the whole table unless `newest` says otherwise, and answers what it has found, by kind.
   *
   * @example for (const { kind, count, ids } of await admin.check()) alert(`${kind}: ${count} (${ids.join(', ')})`);
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async check(options: CheckOptions = {}): Promise<readonly Inconsistency[]> {
    const { database, purgeMaxAgeDays } = this.#parts;
    return database.reports.check({ ...readCheckOptions(options), purgeMaxAgeDays });
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
    const page = readPage(options);
    const found = await this.#tasks.list(readSelection(filter), page);
    const tasks = found.slice(0, page.limit);
    return { tasks, next: found.length > page.limit ? tasks.at(-1)?.id : undefined };
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
    const { current, attempts } = await findAttempts(this.#tasks, id, payload === true);
    return { current, attempts, deadIds: await this.#tasks.deadTasksOf(current.firstAttemptId) };
  }

  /**
   * Starts a failed or cancelled task again, with all its attempts before it: its key, payload and history stay. A task that ran
   * out of attempts also has a dead task, which has an id of its own and is retried by that.
   *
   * @param id of any of its attempts
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE` unless the task has failed or is cancelled, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async retry(id: string): Promise<string> {
    const retried = await this.#tasks.retry(readId(id));
    if (retried !== undefined) return retried;
    throw await refusedRetry(this.#tasks, id);
  }

  /**
   * Starts a failed or cancelled task again with another payload, which is checked as that of an insert is. The attempts before keep theirs;
   * the metadata of the new one tells of it: `{ "tarefa:edits": [{ at, by, reason, after }] }`, where `after` is the id of the
   * attempt that it follows.
   *
   * @param id of any of its attempts
   * @param payload as `insertTask()` takes it
   * @param options.by who edits it, at most 200 characters
   * @returns id of the new attempt
   * @throws {TarefaError} `TASK_STATE` unless the task has failed or is cancelled, of a delivery, and with `interop`; `PAYLOAD_INVALID`,
   * `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async retryEdited(
    id: string,
    payload: unknown,
    options: { readonly by?: string | null | undefined; readonly reason?: string | null | undefined } = {},
  ): Promise<string> {
    const note = readNote(readOptions(options, ['by', 'reason']));
    const { current } = await findAttempts(this.#tasks, id);
    const retried = await retryWithPayload(this.#tasks, this.#parts.rules, current, payload, note);
    if (retried !== undefined) return retried;
    throw await refusedRetry(this.#tasks, id);
  }

  /**
   * Makes a task due now that waits for its time or for its next attempt.
   *
   * @param id of any of its attempts
   * @throws {TarefaError} `TASK_STATE` unless it is scheduled, `QUEUE_BUSY`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async runNow(id: string): Promise<void> {
    if (await this.#tasks.runNow(readId(id))) return;
    throw await refusal(this.#tasks, id, 'run now: only scheduled tasks can be');
  }

  /**
   * Ends tasks that wait for their first or their next attempt, and asks those that run to stop: their `ctx.signal` aborts, in
   * whatever process, within a moment, or at the next poll of a worker that does not listen. One that succeeds anyway has
   * succeeded; else it ends cancelled.
   *
   * To be cancelled is no failure: there is no next attempt and no dead task, and bulk retries leave it out. The column `status` says
   * `falha`, and `cancelada_por` who it was.
   *
   * Of several tasks, those that have ended are left out. With `tx` it happens when that transaction commits, and no event is
   * emitted.
   *
   * @example
   * await admin.cancel('18', { by: 'ana', reason: 'ordered by mistake' });
   * await admin.cancel({ topic: 'send-reminder', externalKey: invoice.id }, { tx, reason: 'paid' });
   * @throws {TarefaError} of a single id `TASK_STATE` when it has ended, or another program runs it, and `TASK_NOT_FOUND`; `QUEUE_BUSY`, `INPUT_INVALID`
   */
  async cancel(what: Cancellable, options: CancelOptions = {}): Promise<CancelledTasks> {
    return cancelTasks(this.#tasks, this.#parts.events, what, options);
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
    const dead = await this.#tasks.bury(readId(id), messageOf(reason));
    if (dead !== undefined) return dead;
    throw await refusal(this.#tasks, id, 'buried: only live tasks that are waiting can be');
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
    const { firstAttemptId } = (await findAttempts(this.#tasks, id)).current;
    const attempts = await this.#tasks.delete(firstAttemptId);
    if (attempts > 0) return attempts;
    throw await refusal(this.#tasks, id, 'deleted while it or its dead task is running');
  }

  /**
   * Retries, cancels or deletes many tasks: counts them first, then does it in blocks.
   *
   * @param options of `cancel`
   * @example
   * const run = admin.bulk('retry');
   * const plan = await run.plan({ topic: 'send-receipt' });
   * for await (const done of run.run(plan)) log(`${done} more of ${plan.total}`);
   */
  bulk(kind: BulkKind, options: BulkCancelOptions = {}): BulkRun {
    const cancellation = readCancellation(readOptions(options, ['by', 'reason']));
    return new BulkRun(kind, this.#tasks, cancellation, this.#parts.events);
  }

  /**
   * Resolves with the last attempt once a task has ended, whichever worker runs it: succeeded, cancelled, or failed without a
   * next attempt.
   *
   * @typeParam Result what its handler returns, for `returned`
   * @param id of any of its attempts
   * @example const { returned } = await admin.waitFor<{ total: number }>(id, { onProgress: (message) => console.log(message) });
   * @throws {TarefaError} `WAIT_TIMEOUT`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  waitFor<Result = unknown>(id: string, options: WaitOptions = {}): Promise<EndedTask<Result>> {
    return waitForEnd<Result>(this.#tasks, this.#parts.waiter, id, options);
  }

  /**
   * Keeps workers from starting tasks of that topic, or deliveries of that subscription, as soon as they hear of it, a
   * moment later; what runs goes on, and inserts are accepted. Pausing what is paused changes nothing.
   *
   * @example await admin.pause({ topic: 'send-receipt' });
   */
  async pause(what: Pausable): Promise<void> {
    await this.#tasks.pause(pausableRoute(what));
  }

  /** Ends a pause: workers go on at once. */
  async resume(what: Pausable): Promise<void> {
    await this.#tasks.resume(pausableRoute(what));
  }

  async paused(): Promise<readonly Pause[]> {
    return this.#tasks.paused();
  }

  /**
   * Tells all workers that run now to stop after their current work; one that does not listen sees it at its next poll.
   * Returns their ids. Needs the right to update `<table>_worker`.
   */
  async halt(): Promise<readonly string[]> {
    return this.#parts.database.workers.haltAll();
  }

  /** Deletes old history now, by the queue's own rules; returns how many attempts. */
  purge(): Promise<number> {
    return this.#parts.purge();
  }
}
