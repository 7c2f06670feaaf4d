import { createHash } from 'node:crypto';
import type { Task } from '../../task.js';
import { column, readDate, readJson, readText, readBoolean, statusColumn } from '../columns.js';
import { plainRoute, publicationRoute, subscriptionRoute, topicRoute } from '../route.js';
import type { AttemptOutcome, FailureOutcome, HeldTask, NextDue, PromoteResult, Route } from '../attempt.js';
import type { ClaimedRow } from './claims/claim-request.js';
import type { TextRow } from './connections/control-connection.js';

/** What a queue is known by in the keys of its tasks. */
export interface QueueIdentity {
  readonly identity: string;
  readonly qualifiedName: string;
}

/** Reads `{1,2,3}`, as PostgreSQL writes an array of ids. */
export function readIds(text: string | null | undefined): readonly string[] | undefined {
  if (text == null) return undefined;
  return text === '{}' ? [] : text.slice(1, -1).split(',');
}

/** Reads a row of `fail`. */
export function readFailed(row: TextRow): FailureOutcome {
  return {
    id: String(row['id']),
    nextAttemptInMs: row['next_ms'] == null ? undefined : Number(row['next_ms']),
    deadId: row['dead_id'] ?? undefined,
  };
}

/** Reads the row of `promote`. */
export function readPromoted(row: TextRow | undefined): PromoteResult {
  const [earliest, nextDue] = [row?.['earliest'], row?.['next_due_ms']];
  return {
    promoted: Number(row?.['promoted'] ?? 0),
    // `-infinity` is not a date.
    earliestMs: earliest == null ? undefined : Date.parse(earliest) || 0,
    nextDueInMs: nextDue == null ? undefined : Number(nextDue),
    isolated: readBoolean(row?.['isolated']),
  };
}

/** Reads the row of `next_due`. */
export function readNextDue(row: TextRow | undefined): NextDue {
  const inMs = row?.['next_due_ms'];
  return {
    inMs: inMs == null ? undefined : Number(inMs),
    pending: row?.['pending'] == null ? [] : (JSON.parse(row['pending']) as Route[]),
    holding: readBoolean(row?.['holding']),
    halted: readBoolean(row?.['halted']),
  };
}

/** Reads a row of a claimed task. */
export function readClaimed(row: TextRow, queue: QueueIdentity): ClaimedRow {
  const task = readTask(row, queue);
  const publication = readBoolean(row[column.publication]);
  const payloadBytes = row['payload_bytes'];
  return {
    id: task.id,
    reservation: Number(row['reserva']),
    task,
    route: routeOf(task, publication),
    publication,
    due: row[column.dueAt] ?? '',
    priority: row[column.priority] == null ? null : Number(row[column.priority]),
    losses: Number(row['perdas']),
    payloadBytes: payloadBytes == null ? null : Number(payloadBytes),
    payload: payloadBytes == null ? (row['payload_inline'] ?? null) : undefined,
  };
}

/** Reads a row of `read_held`. */
export function readHeldRow(row: TextRow, workerId: string, queue: QueueIdentity): HeldTask {
  return {
    id: String(row[column.id]),
    reservation: Number(row['reserva']),
    workerId,
    task: readTask(row, queue),
    route: plainRoute(String(row['route'])),
    losses: Number(row['perdas']),
  };
}

function routeOf(task: Task, publication: boolean): Route {
  if (publication && !task.dead) return publicationRoute;
  return task.subscriptionId === null ? topicRoute(task.topic) : subscriptionRoute(task.subscriptionId);
}

/** The task behind a row; what costs time to read is read when it is asked for. */
function readTask(row: TextRow, queue: QueueIdentity): Task {
  return new RowTask(row, queue);
}

class RowTask implements Task {
  readonly #row: TextRow;
  readonly #queue: QueueIdentity;
  readonly id: string;
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly dead: boolean;

  constructor(row: TextRow, queue: QueueIdentity) {
    this.#row = row;
    this.#queue = queue;
    this.id = String(row[column.id]);
    this.firstAttemptId = row[column.firstAttemptId] ?? this.id;
    this.attempt = Number(row[column.attempt] ?? 1);
    this.topic = this.#text(column.topic);
    this.subscriptionId = this.#text(column.subscriptionId);
    this.dead = readBoolean(row[column.dead]);
  }

  get key(): string {
    // A dead chain's key is that of the chain that died; a failover may re-issue ids, but not at the same time.
    const first = this.dead ? (this.liveId ?? this.firstAttemptId) : this.firstAttemptId;
    const time = this.#row['key_time'] ?? this.#row[column.firstDueAt];
    return createHash('sha256')
      .update(
        `${this.#queue.identity} ${this.#queue.qualifiedName} ${first} ${new Date(String(time)).getTime()}`,
      )
      .digest('hex')
      .slice(0, 32);
  }

  get origin(): string | null {
    return this.#text(column.origin);
  }

  get destination(): string | null {
    return this.#text(column.destination);
  }

  get externalKey(): string | null {
    return this.#text(column.externalKey);
  }

  get tenant(): string | null {
    return this.#text(column.tenant);
  }

  get group(): string | null {
    return this.#text(column.group);
  }

  get priority(): number {
    return Number(this.#row[column.priority] ?? 50);
  }

  get dueAt(): Date {
    return readDate(this.#row[column.dueAt]) ?? new Date(Number.NaN);
  }

  get firstDueAt(): Date {
    return readDate(this.#row[column.firstDueAt]) ?? new Date(Number.NaN);
  }

  get publicationId(): string | null {
    return this.#text(column.publicationId);
  }

  get liveId(): string | null {
    return this.#text(column.liveId);
  }

  get metadata(): Task['metadata'] {
    return readJson(this.#row['metadados']);
  }

  /** All fields at once, for logs: the getters above are not enumerable. */
  toJSON(): Task {
    const { id, firstAttemptId, key, attempt, topic, origin, destination, externalKey, tenant, group } = this;
    const { priority, dueAt, firstDueAt, publicationId, subscriptionId, dead, liveId, metadata } = this;
    const names = {
      id,
      firstAttemptId,
      key,
      attempt,
      topic,
      origin,
      destination,
      externalKey,
      tenant,
      group,
    };
    return { ...names, priority, dueAt, firstDueAt, publicationId, subscriptionId, dead, liveId, metadata };
  }

  #text(name: string): string | null {
    return readText(this.#row[name]);
  }
}

/** What a status says of an attempt that still belongs to who asks. */
export const attemptOutcomes: ReadonlyMap<unknown, AttemptOutcome> = new Map<unknown, AttemptOutcome>([
  [statusColumn.succeeded, 'completed'],
  [statusColumn.failed, 'failed'],
  [statusColumn.processing, 'held'],
]);
