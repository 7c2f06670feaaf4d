import { createHash } from 'node:crypto';
import type { Task } from '../task.js';
import type { AttemptOutcome, ClaimedTask, HeldTask, StandingClaim, WorkerId } from './attempt.js';
import { column, readBoolean, readDate, readJson, readText, statusColumn } from './columns.js';
import { defaultPriority } from './inserts.js';
import { plainRoute, routeOf } from './route.js';

/**
 * An attempt's row, its values as text. A row without one of the columns is read as one whose column is null, but for the
 * time at which its first attempt was due: that is then its own.
 */
export type TaskRow = Readonly<Record<string, string | null | undefined>>;

/** An attempt just claimed, and its place in the order of pick-up. */
export interface ClaimedRow extends ClaimedTask {
  /** As the database writes it, to the microsecond. */
  readonly due: string;
  /** Null where it was made so by hand. */
  readonly priority: number | null;
}

/** What a queue is known by in the keys of its tasks. */
export interface QueueIdentity {
  readonly identity: string;
  readonly qualifiedName: string;
}

/**
 * Reads an attempt that was just claimed. Beside the table's columns the row has `key_time`, when the task's very first
 * attempt was due, and the payload in `payload_inline`, or its size in `payload_bytes` when it was too large to come along. Columns that
 * hold nothing in most rows may be in `rest`, as JSON. A row without a priority has the default one.
 */
export function readClaimedTask(answered: TaskRow, queue: QueueIdentity): ClaimedRow {
  const { rest } = answered;
  const row = rest == null ? answered : Object.assign(JSON.parse(rest) as TaskRow, answered);
  const { [column.priority]: priority = String(defaultPriority) } = row;
  const task = new RowTask(row, queue);
  const publication = readBoolean(row[column.publication]);
  const { dead, subscriptionId, topic } = task;
  const payloadBytes = row['payload_bytes'];
  return {
    id: task.id,
    reservation: Number(row['reserva']),
    task,
    route: routeOf({ publication, dead, subscriptionId, topic, key: row['chave_fila'], losses: 0 }),
    publication,
    losses: Number(row['perdas'] ?? 0),
    payloadBytes: payloadBytes == null ? null : Number(payloadBytes),
    payload: payloadBytes == null ? (row['payload_inline'] ?? null) : undefined,
    due: row[column.dueAt] ?? '',
    priority: priority === null ? null : Number(priority),
  };
}

/** Reads an attempt that a worker holds. Beside the table's columns the row has its `route`. */
export function readHeldTask(row: TaskRow, workerId: WorkerId, queue: QueueIdentity): HeldTask {
  return {
    id: String(row[column.id]),
    reservation: Number(row['reserva']),
    workerId,
    task: new RowTask(row, queue),
    route: plainRoute(String(row['route'])),
    losses: Number(row['perdas']),
  };
}

/** Reads a claim, and whether its attempt was cancelled. */
export function readStanding(row: Readonly<Record<string, unknown>>): StandingClaim {
  const id = String(row[column.id]);
  const [cancelled, completed] = [readBoolean(row['cancelled']), readBoolean(row['completed'])];
  return { id, reservation: Number(row['reserva']), cancelled, completed };
}

/** The task behind a row; what takes time to read is read when it is asked for. */
class RowTask implements Task {
  readonly #row: TaskRow;
  readonly #queue: QueueIdentity;
  readonly id: string;
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly dead: boolean;

  constructor(row: TaskRow, queue: QueueIdentity) {
    this.#row = row;
    this.#queue = queue;
    this.id = String(row[column.id]);
    this.firstAttemptId = row[column.firstAttemptId] ?? this.id;
    this.attempt = Number(row[column.attempt] ?? 1);
    this.topic = readText(row[column.topic]);
    this.subscriptionId = readText(row[column.subscriptionId]);
    this.dead = readBoolean(row[column.dead]);
  }

  get key(): string {
    // A dead chain's key is that of the chain that died; a failover may re-issue ids, but not at the same time.
    const first = this.dead ? (this.liveId ?? this.firstAttemptId) : this.firstAttemptId;
    const time = this.#row['key_time'] ?? this.#firstDueText;
    return createHash('sha256')
      .update(
        `${this.#queue.identity} ${this.#queue.qualifiedName} ${first} ${new Date(String(time)).getTime()}`,
      )
      .digest('hex')
      .slice(0, 32);
  }

  get origin(): string | null {
    return readText(this.#row[column.origin]);
  }

  get destination(): string | null {
    return readText(this.#row[column.destination]);
  }

  get externalKey(): string | null {
    return readText(this.#row[column.externalKey]);
  }

  get tenant(): string | null {
    return readText(this.#row[column.tenant]);
  }

  get group(): string | null {
    return readText(this.#row[column.group]);
  }

  get priority(): number {
    return Number(this.#row[column.priority] ?? 50);
  }

  get dueAt(): Date {
    return readDate(this.#row[column.dueAt]) ?? new Date(Number.NaN);
  }

  get firstDueAt(): Date {
    return readDate(this.#firstDueText) ?? new Date(Number.NaN);
  }

  get publicationId(): string | null {
    return readText(this.#row[column.publicationId]);
  }

  get liveId(): string | null {
    return readText(this.#row[column.liveId]);
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

  get #firstDueText(): string | null | undefined {
    const text = this.#row[column.firstDueAt];
    return text === undefined ? this.#row[column.dueAt] : text;
  }
}

/** What a status says of an attempt that still belongs to who asks. */
export const attemptOutcomes: ReadonlyMap<unknown, AttemptOutcome> = new Map<unknown, AttemptOutcome>([
  [statusColumn.succeeded, 'completed'],
  [statusColumn.failed, 'failed'],
  [statusColumn.processing, 'held'],
]);
