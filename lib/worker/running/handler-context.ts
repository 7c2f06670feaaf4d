import { AsyncResource } from 'node:async_hooks';
import type { DriverClient } from '../../storage/driver-client.js';
import { readTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { TarefaError } from '../../errors.js';
import type { QueueEvents } from '../../events.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ClaimedTask, Completion, WorkerId } from '../../storage/attempt.js';
import type { GroupedTransaction, ServerSession, TaskTransaction } from '../../storage/transactions.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { Subscription, Task, TaskContext, TaskDb } from '../../task.js';
import type { TenantDb } from '../../storage/tenant-db.js';
import { failureMessage } from '../../values/failure-text.js';
import { shownValue } from '../../values/shown-value.js';
import { TenantUse, type TenantSource } from '../../tenants/tenant-use.js';
import type { ProgressNotes } from './progress-notes.js';
import { readDelivery } from './delivery-envelope.js';
import { decodeText, writeJson, cleanMessage } from '../../values/stored-text.js';

/** What all attempts of a worker are run with. */
export interface RunDeps {
  readonly database: Pick<QueueDatabase, 'transactions'>;
  readonly workerId: WorkerId;
  readonly tenants: TenantSource;
  readonly maxResultBytes: number;
  readonly notes: Pick<ProgressNotes, 'add'>;
  /** Told what went wrong after an attempt had ended. */
  readonly warn: (claimed: ClaimedTask, problem: unknown) => void;
  /** True where the attempt's transaction is to ring for nobody. */
  readonly quiet?: boolean | undefined;
  /** Told where an attempt's transaction runs, once it is open. */
  readonly opened?: ((session: ServerSession) => void) | undefined;
  /** Told what a handler finished its task with inside a transaction of its own, before that is committed. */
  readonly completed?: ((recorded: RecordedReturn) => void) | undefined;
}

/** What is the same for all workers of a queue. */
export function runDepsOf({
  database,
  tenants,
  options,
  events,
}: {
  readonly database: RunDeps['database'];
  readonly tenants: TenantSource;
  readonly options: Pick<WorkerOptions, 'maxPayloadBytes'>;
  readonly events: QueueEvents;
}): Pick<RunDeps, 'database' | 'tenants' | 'maxResultBytes' | 'warn'> {
  const warn: RunDeps['warn'] = ({ task }, problem) => {
    const message = `task ${task.firstAttemptId} finished anyway: ${failureMessage(problem)}`;
    events.emit('warning', { message });
  };
  return { database, tenants, maxResultBytes: options.maxPayloadBytes, warn };
}

/** The context of one attempt. Its parts are made when the handler first uses them. */
export class HandlerContext implements TaskContext {
  readonly task: Task;
  readonly subscription: Subscription | undefined;
  /** @internal */
  readonly claimed: ClaimedTask;
  readonly #deps: RunDeps;
  /** @internal Told when the attempt is to stop before its handler was called. */
  onAbort: (() => void) | undefined;
  #transaction: TaskTransaction | undefined;
  /** The transaction, when it is part of a group. */
  #part: GroupedTransaction | undefined;
  /** @internal What the handler used of its tenant's database; undefined when nothing. */
  tenant: TenantUse | undefined;
  #signal: AbortSignal | undefined;
  #tellAbort: ((reason: Error) => void) | undefined;
  #aborted: Error | undefined;
  /** @internal What the handler finished the task with inside a transaction of its own; undefined when it did not. */
  completedElsewhere: RecordedReturn | undefined;
  #ended = false;

  constructor(claimed: ClaimedTask, subscription: Subscription | undefined, deps: RunDeps) {
    this.task = claimed.task;
    this.subscription = subscription;
    this.claimed = claimed;
    this.#deps = deps;
  }

  get db(): TaskDb {
    const transaction = this.#ownTransaction();
    const handle: SqlHandle = { query: (text, values) => transaction.query(text, values) };
    return handle as TaskDb;
  }

  client(): Promise<DriverClient> {
    return this.#ownTransaction().client() as Promise<DriverClient>;
  }

  tenantDb(): Promise<TenantDb> {
    if (!this.tenant) {
      this.tenant = new TenantUse(this.#deps.tenants, this.task);
      if (this.#ended) this.tenant.quit();
    }
    return this.tenant.open();
  }

  async completeIn(tx: SqlHandle, result?: unknown): Promise<void> {
    this.#refuseCompletion();
    const handle = readTransaction(tx);
    const { database, workerId, maxResultBytes } = this.#deps;
    const recorded = readReturn(result, maxResultBytes);
    const { id, reservation } = this.claimed;
    const completion: Completion = {
      id,
      reservation,
      message: recorded.message,
      result: recorded.result,
    };
    await database.transactions.completeIn(handle, workerId, completion);
    this.completedElsewhere = recorded;
    this.#deps.completed?.(recorded);
  }

  progress(progress: number | string): void {
    this.#deps.notes.add(this, progressText(progress));
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      if (this.#aborted) controller.abort(this.#aborted);
      // Its listeners are the handler's: they run in its context, not in that of the loop that tells it to stop.
      else this.#tellAbort = AsyncResource.bind((reason: Error) => controller.abort(reason));
    }
    return this.#signal;
  }

  /** @internal The task's transaction, when the handler used one. */
  get transaction(): TaskTransaction | undefined {
    return this.#transaction?.opened ? this.#transaction : undefined;
  }

  /** @internal Makes its transaction a part of a group's. */
  join(part: GroupedTransaction): void {
    this.#part = part;
    this.#transaction = part;
  }

  /** @internal True when its work was undone because of another task of its group. */
  get disturbed(): boolean {
    return this.#part?.disturbed ?? false;
  }

  /** @internal Why the attempt is to stop; undefined while it may go on. */
  get aborted(): Error | undefined {
    return this.#aborted;
  }

  /** @internal True when the attempt is over for its handler. */
  get ended(): boolean {
    return this.#ended;
  }

  /** @internal Tells the handler to stop. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#tellAbort?.(reason);
    this.onAbort?.();
  }

  /** @internal Refuses statements from now on. */
  end(): void {
    this.#ended = true;
    this.tenant?.quit();
    void this.#transaction?.rollback();
  }

  /** @internal Refuses statements from now on and undoes those before. Never rejects. */
  async rollback(): Promise<void> {
    this.#ended = true;
    this.tenant?.quit();
    await this.#transaction?.rollback();
  }

  /** @internal Cuts the connection of a handler that may still be using it. */
  destroy(reason: Error): void {
    this.abort(reason);
    this.#ended = true;
    this.tenant?.abandon(reason);
    this.#ownTransaction().destroy(reason);
  }

  #refuseCompletion(): void {
    if (this.#ended) {
      throw new TarefaError(
        'TASK_ENDED',
        'ctx.completeIn was called after the handler had ended: await it inside the handler',
      );
    }
    if (!this.transaction) return;
    throw new TarefaError(
      'TRANSACTION_BROKEN',
      'ctx.completeIn finishes the task in a different transaction from that of ctx.db, whose work would be lost: use only one of them',
    );
  }

  #ownTransaction(): TaskTransaction {
    if (!this.#transaction) {
      const { database, workerId, opened, quiet } = this.#deps;
      this.#transaction = database.transactions.begin(workerId, opened, quiet);
      // First used after the end: a transaction that is over before it began refuses every statement.
      if (this.#ended) void this.#transaction.rollback();
    }
    return this.#transaction;
  }
}

/** What is no progress is shown as it is: a handler does not fail by what it says. */
function progressText(progress: unknown): string {
  if (typeof progress === 'string') return cleanMessage(progress);
  if (typeof progress !== 'number' || !(progress >= 0 && progress <= 1)) {
    return `${shownValue(progress)}, which is neither a number from 0 to 1 nor text`;
  }
  // 100 only at the end. 0.29 * 100 is a little less than 29.
  return `${Math.floor(Number((progress * 100).toFixed(6)))} %`;
}

/** A payload as the handler gets it, with the subscription when the task is a delivery. */
export interface DecodedPayload {
  readonly payload: unknown;
  readonly subscription: Subscription | undefined;
}

/** How a handler gets its payload; `stored` for one that reads envelopes itself. */
export type PayloadForm = 'json' | 'text' | 'stored';

/**
 * Decodes what is stored. A delivery's payload is an envelope: the publication's text and the subscription's
 * row at that moment. An inserted object arrives as that object, a string as that string.
 *
 * @throws {Error} when a delivery does not hold an envelope: some other program made the row
 */
export function decodePayload(stored: string | null, task: Task, as: PayloadForm): DecodedPayload {
  if (as === 'stored') return { payload: stored, subscription: undefined };
  if (task.subscriptionId === null) return { payload: decodeText(stored, as), subscription: undefined };
  const { publication, subscription } = readDelivery(stored, task);
  return { payload: decodeText(publication, as), subscription };
}

/** What a handler returned, as it is recorded. */
export interface RecordedReturn {
  readonly message: string;
  readonly result: string | null;
  /** Why the result is not recorded; undefined where it is, or there is none. */
  readonly problem?: string | undefined;
}

/** What is recorded when a handler returns nothing. */
const defaultMessage = 'completed';

/** The completion recorded for an attempt of which only its success is known. */
export const nothingReturned: RecordedReturn = { message: defaultMessage, result: null };

/**
 * Reads a handler's return value: nothing, a message, or a result. The work is done, so what cannot be recorded must not
 * undo or repeat it: the message then says why. Never throws.
 */
export function readReturn(value: unknown, maxBytes: number): RecordedReturn {
  if (value === undefined || value === null) return nothingReturned;
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  const written = writeJson(value);
  if ('problem' in written) return notRecorded(written.problem);
  const bytes = Buffer.byteLength(written.text);
  if (bytes > maxBytes) return notRecorded(`has ${bytes} bytes, more than maxPayloadBytes (${maxBytes})`);
  return { message: defaultMessage, result: written.text };
}

/** Of a result that was not recorded, and why: `has 2000000 bytes`. */
export function notRecorded(why: string): RecordedReturn {
  const problem = cleanMessage(`result not recorded: it ${why}`.replace(/\s+/g, ' '));
  return { message: problem, result: null, problem };
}
