import { isRetriable } from '../admin/task-answers.js';
import { taskNotFound } from '../admin/task-attempts.js';
import { readSelection } from '../admin/task-filter.js';
import type { TaskAdmin } from '../storage/admin.js';
import { longestText, type CutAttempt, type QueueReports } from '../storage/reports.js';
import { readId } from '../values/attempt-id.js';
import { TarefaError } from '../errors.js';
import type { TaskRecord } from '../task.js';
import type { AttemptJson, PayloadJson, TaskDetailsJson, TaskJson, TasksJson, TextJson } from './api.js';
import type { DashboardAction } from '../options/dashboard-options.js';
import { readFilter, readParameter, type Query } from './read-filter.js';
import { isJson, redacted, type Redaction } from '../redaction/redaction.js';
import { publicationOf } from '../redaction/published-text.js';
import { restoreRedacted } from './restored-payload.js';
import { cutText, taskJson, textJson } from './to-json.js';

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
  readonly #admin: Pick<TaskAdmin, 'deadTasksOf'>;
  readonly #reports: Pick<QueueReports, 'search' | 'lastAttempts' | 'payload'>;
  readonly #redaction: Redaction;
  /** What this dashboard may do. */
  readonly #actions: readonly DashboardAction[];

  constructor(
    admin: Pick<TaskAdmin, 'deadTasksOf'>,
    reports: Pick<QueueReports, 'search' | 'lastAttempts' | 'payload'>,
    redaction: Redaction,
    actions: readonly DashboardAction[],
  ) {
    this.#admin = admin;
    this.#reports = reports;
    this.#redaction = redaction;
    this.#actions = actions;
  }

  /** @throws {TarefaError} `INPUT_INVALID` */
  async list(query: Query): Promise<TasksJson> {
    const filter = readFilter(query, ['limit', 'after']);
    const limit = readLimit(readParameter(query, 'limit'));
    const after = readParameter(query, 'after');
    const { payload } = filter;
    const accept = payload === undefined ? undefined : (task: TaskRecord) => this.#isShown(task, payload);
    const { tasks, next, searched } = await this.#reports.search(readSelection(filter), {
      limit,
      after,
      accept,
    });
    return { tasks: tasks.map(this.#taskJson), next: next ?? null, searched };
  }

  /** @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID` */
  async find(id: string): Promise<TaskDetailsJson> {
    const { attempts, total } = await this.#reports.lastAttempts(readId(id), mostAttempts);
    const current = attempts[0]?.task;
    if (!current) throw taskNotFound(id);
    const { firstAttemptId, liveId, publicationId, publication } = current;
    const deadIds = (await this.#admin.deadTasksOf(firstAttemptId)).slice(0, mostDead);
    return {
      current: this.#taskJson(current),
      attempts: attempts.map((one) => this.#attemptJson(one)).toReversed(),
      attemptsTotal: total,
      metadata: this.#redaction.redact(current.metadata).value,
      deadTasks: (await Promise.all(deadIds.map((one) => this.#current(one)))).filter((one) => one !== null),
      liveTask: liveId === null ? null : await this.#current(liveId),
      publication: publicationId === null ? null : await this.#current(publicationId),
      deliveries: await this.#deliveries(publication ? firstAttemptId : publicationId, firstAttemptId),
      actions: possibleActions(current).filter((action) => this.#actions.includes(action)),
    };
  }

  /** @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID` */
  async payload(id: string): Promise<PayloadJson> {
    const { text, bytes, isWhole } = await this.#stored(id);
    if (text === null) return { payload: null, isJson: false, bytes, redacted: 0, isWhole };
    const shown = this.#redaction.text(text);
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
    return restoreRedacted(edited, isWhole ? text : null, this.#redaction);
  }

  /** What was published, of a delivery. A text that is not there, or too large, is null. */
  async #stored(
    id: string,
  ): Promise<{ readonly text: string | null; readonly bytes: number; readonly isWhole: boolean }> {
    const stored = await this.#reports.payload(readId(id), largestPayloadBytes);
    if (!stored) throw taskNotFound(id);
    const { bytes, isDelivery, isReadable } = stored;
    const text = stored.text !== null && isDelivery ? publicationOf(stored.text) : stored.text;
    return { text, bytes, isWhole: isReadable && bytes <= largestPayloadBytes && !isDelivery };
  }

  /** Whether the text that was looked for is in what this dashboard shows: what is redacted cannot be found out by searching. */
  #isShown({ payload, subscriptionId }: TaskRecord, text: string): boolean {
    const isDelivery = subscriptionId !== null;
    const own = payload !== null && isDelivery ? publicationOf(payload) : payload;
    if (own === null) return false;
    const shown = this.#redaction.text(own);
    if (shown.count === 0 && !isDelivery) return true;
    return shown.text.toLowerCase().includes(text.toLowerCase());
  }

  readonly #taskJson = (task: TaskRecord): TaskJson => taskJson(task, this.#redaction);

  #attemptJson({ task, resultLength, errorLength }: CutAttempt): AttemptJson {
    return {
      ...this.#taskJson(task),
      result: this.#shownText(task.result, resultLength),
      error: this.#shownText(task.error, errorLength),
    };
  }

  /** JSON that the database has cut cannot be read any more: what a path names in it would not be found. */
  #shownText(text: string | null, length: number): TextJson | null {
    if (text === null) return null;
    const isCut = length > longestText || text.length >= longestText;
    if (isCut && /^\s*[[{"]/.test(text)) return cutText(redacted, longestText, length);
    return textJson(text, this.#redaction, longestText, length);
  }

  async #deliveries(publicationId: string | null, except: string): Promise<readonly TaskJson[]> {
    if (publicationId === null) return [];
    const { tasks } = await this.#reports.search(
      { publicationId, latest: true, dead: false },
      { limit: mostDeliveries },
    );
    return tasks.filter(({ firstAttemptId }) => firstAttemptId !== except).map(this.#taskJson);
  }

  /** The task of an attempt as it stands now; null when it has been purged. */
  async #current(id: string): Promise<TaskJson | null> {
    const [last] = (await this.#reports.lastAttempts(id, 1)).attempts;
    return last ? this.#taskJson(last.task) : null;
  }
}

/** What the task's state allows. */
function possibleActions(task: TaskRecord): readonly DashboardAction[] {
  const { status, dead, subscriptionId } = task;
  if (status === 'processing') return ['cancel'];
  if (isRetriable(task)) {
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
