import { readId } from '../admin/task-filter.js';
import type { TaskSearch } from '../admin/task-search.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { TarefaError } from '../errors.js';
import { readText, readTaskRecord } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { deadChains } from '../storage/postgres/statements/admin.js';
import { lastAttempts, longestText, searchPayload } from '../storage/postgres/statements/search.js';
import { unreadableColumns } from '../storage/unreadable.js';
import type { TaskRecord } from '../task.js';
import type { AttemptJson, PayloadJson, TaskDetailsJson, TaskJson, TasksJson, TextJson } from './api.js';
import type { DashboardAction } from '../options/dashboard-options.js';
import { readFilter, readParameter, type Query } from './read-filter.js';
import { redacted, type Redaction } from './redaction.js';
import { restoreRedacted } from './redaction/restored-payload.js';
import { cutText, taskJson } from './to-json.js';

/** What a {@link TaskReader} works with. */
export interface TaskReaderParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly search: TaskSearch;
  readonly redaction: Redaction;
  /** What this dashboard may do. */
  readonly actions: readonly DashboardAction[];
}

const defaultPage = 50;
const largestPage = 100;
const mostAttempts = 200;
const mostDeliveries = 100;
const mostDead = 10;
/** Larger payloads cannot be redacted without keeping everybody waiting, and are not shown. */
const largestPayloadBytes = 1_048_576;
const shownPayload = 200_000;

/** Reads tasks for the page: lists, one with everything around it, and payloads. */
export class TaskReader {
  readonly #parts: TaskReaderParts;

  constructor(parts: TaskReaderParts) {
    this.#parts = parts;
  }

  /** @throws {TarefaError} `INPUT_INVALID` */
  async list(query: Query): Promise<TasksJson> {
    const filter = readFilter(query, ['limit', 'after']);
    const limit = readLimit(readParameter(query, 'limit'));
    const after = readParameter(query, 'after');
    const { payload } = filter;
    const accept = payload === undefined ? undefined : (task: TaskRecord) => this.#isShown(task, payload);
    const { tasks, next, searched } = await this.#parts.search.list(filter, { limit, after, accept });
    return { tasks: tasks.map(taskJson), next: next ?? null, searched };
  }

  /** @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID` */
  async find(id: string): Promise<TaskDetailsJson> {
    const rows = await this.#attempts(id, mostAttempts);
    const [newest] = rows;
    if (!newest)
      throw new TarefaError('TASK_NOT_FOUND', `there is no attempt ${id}: it may have been purged`);
    const current = readTaskRecord(newest);
    const { firstAttemptId, liveId, publicationId, publication } = current;
    const dead = await this.#ask(deadChains(this.#parts.tables), [firstAttemptId]);
    const deadIds = dead.slice(0, mostDead).map((row) => String(row['id']));
    return {
      current: taskJson(current),
      attempts: rows.map((row) => this.#attemptJson(row)).toReversed(),
      attemptsTotal: Number(newest['total']),
      metadata: this.#parts.redaction.redact(current.metadata).value,
      deadTasks: (await Promise.all(deadIds.map((one) => this.#current(one)))).filter((one) => one !== null),
      liveTask: liveId === null ? null : await this.#current(liveId),
      publication: publicationId === null ? null : await this.#current(publicationId),
      deliveries: await this.#deliveries(publication ? firstAttemptId : publicationId, firstAttemptId),
      actions: possibleActions(current).filter((action) => this.#parts.actions.includes(action)),
    };
  }

  /** @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID` */
  async payload(id: string): Promise<PayloadJson> {
    const { text, bytes, isWhole } = await this.#stored(id);
    if (text === null) return { payload: null, isJson: false, bytes, redacted: 0, isWhole };
    const shown = this.#parts.redaction.text(text);
    const payload = cutText(shown.text, shownPayload);
    return {
      payload,
      isJson: isJson(text),
      bytes,
      redacted: shown.count,
      isWhole: isWhole && payload.text.length === payload.length,
    };
  }

  /**
   * A payload that was edited, with what was redacted put back where it still says so.
   *
   * @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID`
   */
  async restored(id: string, edited: string): Promise<string> {
    const { text, isWhole } = await this.#stored(id);
    return restoreRedacted(edited, isWhole ? text : null, this.#parts.redaction);
  }

  /** What was published, of a delivery. A text that is not there, or too large, is null. */
  async #stored(
    id: string,
  ): Promise<{ readonly text: string | null; readonly bytes: number; readonly isWhole: boolean }> {
    const [row] = await this.#ask(searchPayload(this.#parts.tables), [readId(id), largestPayloadBytes]);
    if (!row) throw new TarefaError('TASK_NOT_FOUND', `there is no attempt ${id}: it may have been purged`);
    const bytes = Number(row['bytes'] ?? 0);
    const stored = readText(row['payload']);
    const isDelivery = row['subscriber_id'] !== null;
    const isReadable = row[unreadableColumns] === undefined && bytes <= largestPayloadBytes;
    const text = stored !== null && isDelivery ? publicationOf(stored) : stored;
    return { text, bytes, isWhole: isReadable && !isDelivery };
  }

  /** Whether the text that was looked for is in what this dashboard shows: what is redacted cannot be found out by searching. */
  #isShown({ payload, subscriptionId }: TaskRecord, text: string): boolean {
    const isDelivery = subscriptionId !== null;
    const own = payload !== null && isDelivery ? publicationOf(payload) : payload;
    if (own === null) return false;
    const shown = this.#parts.redaction.text(own);
    if (shown.count === 0 && !isDelivery) return true;
    return shown.text.toLowerCase().includes(text.toLowerCase());
  }

  #attemptJson(row: Readonly<Record<string, unknown>>): AttemptJson {
    const task = readTaskRecord(row);
    return {
      ...taskJson(task),
      result: this.#shownText(task.result, Number(row['result_length'] ?? 0)),
      error: this.#shownText(task.error, Number(row['error_length'] ?? 0)),
    };
  }

  /** JSON that the database has cut cannot be read any more: what a path names in it would not be found. */
  #shownText(text: string | null, length: number): TextJson | null {
    if (text === null) return null;
    const isCut = length > longestText || text.length >= longestText;
    if (isCut && /^\s*[[{"]/.test(text)) return cutText(redacted, longestText, length);
    const { text: shown } = this.#parts.redaction.text(text);
    return cutText(shown, longestText, Math.max(length, text.length));
  }

  async #deliveries(publicationId: string | null, except: string): Promise<readonly TaskJson[]> {
    if (publicationId === null) return [];
    const { tasks } = await this.#parts.search.list(
      { publicationId, latest: true, dead: false },
      { limit: mostDeliveries },
    );
    return tasks.filter(({ firstAttemptId }) => firstAttemptId !== except).map(taskJson);
  }

  /** The task of an attempt as it stands now; null when it has been purged. */
  async #current(id: string): Promise<TaskJson | null> {
    const [row] = await this.#attempts(id, 1);
    return row ? taskJson(readTaskRecord(row)) : null;
  }

  #attempts(id: string, most: number): Promise<Record<string, unknown>[]> {
    return this.#ask(lastAttempts(this.#parts.tables), [readId(id), most]);
  }

  async #ask(text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await queryReadable(this.#parts.handle, text, values)).rows;
  }
}

/** What the task's state allows. */
function possibleActions({ status, retried, dead, subscriptionId }: TaskRecord): readonly DashboardAction[] {
  if (status === 'processing') return [];
  if (status === 'failed' && !retried) {
    return ['retry', ...(subscriptionId === null ? (['retry-edited'] as const) : []), 'delete'];
  }
  if (status !== 'pending' && status !== 'scheduled') return ['delete'];
  return [
    ...(status === 'scheduled' ? (['run-now'] as const) : []),
    'cancel',
    ...(dead ? [] : (['bury'] as const)),
    'delete',
  ];
}

function readLimit(text: string | undefined): number {
  const limit = text === undefined ? defaultPage : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= largestPage) return limit;
  throw new TarefaError(
    'INPUT_INVALID',
    `limit must be a whole number from 1 to ${largestPage}, not '${text}'`,
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Of the envelope of a delivery: what was published. The subscription in it has headers, which are secret. An envelope that
 * cannot be read is shown as it is, like any text.
 */
function publicationOf(stored: string): string | null {
  let envelope: unknown;
  try {
    envelope = JSON.parse(stored);
  } catch {
    return stored;
  }
  const { publication } = (envelope ?? {}) as { readonly publication?: unknown };
  return typeof publication === 'string' ? publication : null;
}
