import type { SqlHandle } from '../client/sql-handle.js';
import { TarefaError } from '../queue.errors.js';
import { pausedText } from '../coordination/ringer.js';
import { columnLength, readDate, readStatus, readText, readTaskRecord } from '../storage/columns.js';
import { subscriptionRoute, topicRoute } from '../storage/route.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import {
  buryTask,
  cancelTask,
  countTasks,
  deadChains,
  deleteTask,
  listPaused,
  listTasks,
  pauseRoute,
  oldestPending,
  resumeRoute,
  retryTask,
  runTaskNow,
  taskAttempts,
} from '../storage/postgres/statements/admin.js';
import { hasOverdue } from '../storage/postgres/statements/look.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import { SubscriptionAdmin } from './subscription-admin.js';
import { filterSql, readId, type TaskFilter } from './task-filter.js';
import type { TaskWaiter } from './task-waiter.js';

/** How many tasks of a topic or subscription stand there. */
export interface TaskCount {
  readonly topic: string | null;
  /** Null for tasks that are no delivery. */
  readonly subscriptionId: string | null;
  readonly status: TaskStatus;
  readonly count: number;
}

/** An attempt that has waited, and how long. */
export interface WaitingTask {
  readonly task: TaskRecord;
  /** Ms since it was due, by the database's clock. */
  readonly waitingMs: number;
}

/** A page of attempts, the newest first. */
export interface TaskPage {
  readonly tasks: readonly TaskRecord[];
  /** Hand it over as `after` for the next page; undefined on the last one. */
  readonly next: string | undefined;
}

/** Which page, and whether with payloads. */
interface PageOptions {
  readonly limit?: number;
  readonly after?: string;
  readonly payload?: boolean;
}

/** A task with everything that happened to it. */
export interface TaskHistory {
  /** The last attempt: as the task stands now. */
  readonly current: TaskRecord;
  /** Oldest first, replays included. */
  readonly attempts: readonly TaskRecord[];
  /** First attempts of its dead chains. */
  readonly deadIds: readonly string[];
}

/** What may be paused: a topic (null: tasks without one), or a subscription. */
export type Pausable = { readonly topic: string | null } | { readonly subscriptionId: string };

/** What is paused, and since when. */
export type Pause = Pausable & { readonly since: Date };

/** What a {@link QueueAdmin} works with. */
export interface QueueAdminParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly waiter: TaskWaiter;
  /** Channel that the queue's workers listen on. */
  readonly channel: string;
  /** Runs a round of the purge. */
  readonly purge: () => Promise<number>;
}

/** Rows of a page where nothing is said, and at most. */
const defaultPage = 50;
const largestPage = 1_000;
const beyondAllIds = '9223372036854775807';

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

  constructor(parts: QueueAdminParts) {
    this.#parts = parts;
    this.subscriptions = new SubscriptionAdmin(parts.handle, parts.tables.subscriptions);
  }

  /**
   * Counts tasks as they stand now, by topic, subscription and status.
   *
   * @param options.since counts what has ended only when it was due since then. Default: all there is, which reads the
   * whole table
   */
  async counts({ since }: { readonly since?: Date } = {}): Promise<readonly TaskCount[]> {
    const rows = await this.#ask(countTasks(this.#parts.tables), [since?.toISOString() ?? null]);
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      status: readStatus(row['status']),
      count: Number(row['n']),
    }));
  }

  /** The pending attempt that has been due for longest; undefined when none is. */
  async oldestPending(): Promise<WaitingTask | undefined> {
    const [row] = await this.#ask(oldestPending(this.#parts.tables), []);
    return row && { task: readTaskRecord(row), waitingMs: Number(row['waiting_ms']) };
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#ask('select 1', []);
  }

  /** True when a task has been due for longer than that and still waits. */
  async hasWaited(olderThanMs: number): Promise<boolean> {
    const [row] = await this.#ask(hasOverdue(this.#parts.tables).text, [olderThanMs]);
    return row?.['overdue'] === true;
  }

  /**
   * Lists attempts, the newest first.
   *
   * @param options.limit rows of a page, at most 1,000. Default 50
   * @param options.after `next` of the page before
   * @param options.payload false leaves payloads in the database: each is null then. Default true
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async list(
    filter: TaskFilter = {},
    { limit = defaultPage, after, payload = true }: PageOptions = {},
  ): Promise<TaskPage> {
    if (!Number.isInteger(limit) || limit < 1 || limit > largestPage) {
      throw new TarefaError(
        'INPUT_INVALID',
        `limit must be a whole number from 1 to ${largestPage}, not ${limit}`,
      );
    }
    const { conditions, values } = filterSql(filter, 3);
    const before = after === undefined ? beyondAllIds : readId(after);
    const text = listTasks(this.#parts.tables, conditions, payload);
    const rows = await this.#ask(text, [before, limit + 1, ...values]);
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
  async find(id: string, { payload = true }: { readonly payload?: boolean } = {}): Promise<TaskHistory> {
    const { current, attempts } = await this.#attempts(id, payload);
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
    throw await this.#refusal(id, 'retried', 'only a task that has failed can be');
  }

  /**
   * Makes a task due now that waits for its time or for its next attempt.
   *
   * @param id of any of its attempts
   * @throws {TarefaError} `TASK_STATE` unless it is scheduled, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async runNow(id: string): Promise<void> {
    const { tables, channel } = this.#parts;
    const rows = await this.#ask(runTaskNow(tables), [readId(id), channel]);
    if (rows.length === 0) throw await this.#refusal(id, 'run now', 'only a task that is scheduled can be');
  }

  /**
   * Ends a task that waits for its first or its next attempt. It counts as failed and gets no dead task.
   *
   * @param id of any of its attempts
   * @param reason recorded as its message
   * @throws {TarefaError} `TASK_STATE` when it runs or has ended, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async cancel(id: string, reason = 'cancelled'): Promise<void> {
    const rows = await this.#ask(cancelTask(this.#parts.tables), [readId(id), messageOf(reason)]);
    if (rows.length === 0) throw await this.#refusal(id, 'cancelled', 'only a task that waits can be');
  }

  /**
   * Ends a task that waits for its first or its next attempt, as if it had run out of attempts: its dead task starts at
   * once.
   *
   * @param id of any of its attempts
   * @param reason recorded as its message
   * @returns id of the dead task
   * @throws {TarefaError} `TASK_STATE` when it runs, has ended or is a dead task itself, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async bury(id: string, reason = 'buried'): Promise<string> {
    const [row] = await this.#ask(buryTask(this.#parts.tables), [readId(id), messageOf(reason)]);
    if (row) return String(row['id']);
    throw await this.#refusal(id, 'buried', 'only a task that waits can be, and no dead task');
  }

  /**
   * Deletes a task that has ended, with its attempts and its dead chains.
   *
   * @param id of any of its attempts
   * @throws {TarefaError} `TASK_STATE` unless it has ended, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async delete(id: string): Promise<void> {
    const rows = await this.#ask(deleteTask(this.#parts.tables), [readId(id)]);
    if (rows.length > 0) return;
    throw await this.#refusal(id, 'deleted', 'only a task that has ended can be, with its dead task');
  }

  /**
   * Resolves with the last attempt once a task has ended, whichever worker runs it: succeeded, or failed without a next
   * attempt.
   *
   * @param id of any of its attempts
   * @param options.timeoutMs how long to wait. Default 30 s
   * @throws {TarefaError} `WAIT_TIMEOUT`, `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async waitFor(
    id: string,
    { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
  ): Promise<TaskRecord> {
    const { firstAttemptId } = (await this.#attempts(id)).current;
    return this.#parts.waiter.wait(firstAttemptId, timeoutMs, async () => {
      const { current } = await this.#attempts(firstAttemptId, true);
      const ended = current.status === 'succeeded' || (current.status === 'failed' && !current.retried);
      return ended ? current : undefined;
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
    const rows = await this.#ask(listPaused(this.#parts.tables), []);
    return rows.map(readPause);
  }

  /** Deletes old history now, by the queue's own rules; answers how many attempts. */
  purge(): Promise<number> {
    return this.#parts.purge();
  }

  async #attempts(id: string, withPayload = false): Promise<Omit<TaskHistory, 'deadIds'>> {
    const rows = await this.#ask(taskAttempts(this.#parts.tables, withPayload), [readId(id)]);
    const attempts = rows.map(readTaskRecord);
    const current = attempts.at(-1);
    if (!current) throw notFound(id);
    return { current, attempts };
  }

  async #refusal(id: string, verb: string, rule: string): Promise<TarefaError> {
    const { current } = await this.#attempts(id);
    return new TarefaError(
      'TASK_STATE',
      `task ${id} cannot be ${verb}: ${rule}, and its attempt ${current.id} is ${current.dead ? 'dead and ' : ''}${current.status}`,
    );
  }

  async #ask(text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#parts.handle.query(text, values)).rows;
  }
}

/** Reads a row of `list_paused`. */
export function readPause(row: Readonly<Record<string, unknown>>): Pause {
  const route = String(row['route']);
  const since = readDate(row['paused_at']) ?? new Date(Number.NaN);
  const id = route.slice(2);
  return route.startsWith('s:') ? { subscriptionId: id, since } : { topic: id === '' ? null : id, since };
}

function routeOf(what: Pausable): string {
  if ('subscriptionId' in what && 'topic' in what) {
    throw new TarefaError('INPUT_INVALID', 'pause a topic or a subscription, not both in one call');
  }
  if ('subscriptionId' in what && typeof what.subscriptionId === 'string') {
    return subscriptionRoute(what.subscriptionId);
  }
  if ('topic' in what && (what.topic === null || typeof what.topic === 'string'))
    return topicRoute(what.topic);
  throw new TarefaError('INPUT_INVALID', 'name what to pause or resume: { topic } or { subscriptionId }');
}

/** As the column takes it. */
function messageOf(reason: string): string {
  return Array.from(reason.replaceAll('\0', '')).slice(0, columnLength.message).join('');
}

function notFound(id: string): TarefaError {
  return new TarefaError('TASK_NOT_FOUND', `there is no attempt ${id}: it may have been purged`);
}
