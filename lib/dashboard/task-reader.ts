import { readId } from '../admin/task-filter.js';
import type { TaskSearch } from '../admin/task-search.js';
import type { SqlHandle } from '../client/sql-handle.js';
import { TarefaError } from '../queue.errors.js';
import { readText, readTaskRecord } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { deadChains } from '../storage/postgres/statements/admin.js';
import { lastAttempts, longestText, searchPayload } from '../storage/postgres/statements/search.js';
import type { TaskRecord } from '../task.js';
import type {
  AttemptJson,
  DashboardAction,
  PayloadJson,
  TaskDetailsJson,
  TaskJson,
  TasksJson,
} from './api.js';
import { readFilter, readParameter, type Query } from './read-filter.js';
import { redacted, type Redaction } from './redaction.js';
import { taskJson, textJson } from './to-json.js';

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
    const { tasks, next, searched } = await this.#parts.search.list(filter, { limit, after });
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
    const [row] = await this.#ask(searchPayload(this.#parts.tables), [readId(id), largestPayloadBytes]);
    if (!row) throw new TarefaError('TASK_NOT_FOUND', `there is no attempt ${id}: it may have been purged`);
    const bytes = Number(row['bytes'] ?? 0);
    const stored = readText(row['payload']);
    if (stored === null) return { payload: null, isJson: false, bytes, redacted: 0 };
    const isDelivery = row['subscriber_id'] !== null;
    const parsed = parseJson(stored);
    const text = isDelivery && parsed ? publicationOf(parsed.value) : stored;
    if (text === null) return { payload: null, isJson: false, bytes, redacted: 0 };
    const own = text === stored ? parsed : parseJson(text);
    if (!own) return { payload: textJson(text, shownPayload), isJson: false, bytes, redacted: 0 };
    const { value, count } = this.#parts.redaction.redact(own.value);
    const shown = count === 0 ? text : printJson(value);
    return { payload: textJson(shown, shownPayload), isJson: true, bytes, redacted: count };
  }

  #attemptJson(row: Readonly<Record<string, unknown>>): AttemptJson {
    const task = readTaskRecord(row);
    return {
      ...taskJson(task),
      result: textJson(this.#shownResult(task.result), longestText, Number(row['result_length'] ?? 0)),
      error: textJson(task.error, longestText, Number(row['error_length'] ?? 0)),
    };
  }

  /** A result that was cut is no JSON any more: what is secret in it could not be found. */
  #shownResult(result: string | null): string | null {
    if (result === null) return null;
    const parsed = parseJson(result);
    if (!parsed) return result.length < longestText ? result : redacted;
    const { value, count } = this.#parts.redaction.redact(parsed.value);
    return count === 0 ? result : (printJson(value) ?? redacted);
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
    return (await this.#parts.handle.query(text, values)).rows;
  }
}

/** What the task's state allows. */
function possibleActions({ status, retried, dead }: TaskRecord): readonly DashboardAction[] {
  if (status === 'failed' && !retried) return ['retry'];
  if (status !== 'pending' && status !== 'scheduled') return [];
  return [
    ...(status === 'scheduled' ? (['run-now'] as const) : []),
    'cancel',
    ...(dead ? [] : (['bury'] as const)),
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

/** In a box, because null is JSON as well. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** Null when it is nested too deep to be printed. */
function printJson(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

/** Of the envelope of a delivery: what was published. The subscription in it has headers, which are secret. */
function publicationOf(envelope: unknown): string | null {
  const { publication } = (envelope ?? {}) as { readonly publication?: unknown };
  return typeof publication === 'string' ? publication : null;
}
