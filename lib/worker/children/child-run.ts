import type { ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { TaskTransactions } from '../../storage/transactions.js';
import { type Handler, timeoutOf } from '../../subscribers/handler-registry.js';
import { timedOut, type RunEnd } from '../running/run-handler.js';
import type { NotedAttempt, ProgressNotes } from '../running/progress-notes.js';
import type { RecordedReturn } from '../running/handler-context.js';
import type { RunningContext } from '../running/running-tasks.js';
import { serializeError, deserializeError } from './serialized-error.js';
import type { Child, ChildEnd } from './child.js';
import type { ChildPool } from './child-pool.js';
import { sendable } from './messages.js';

export interface ChildRunParts {
  readonly pool: Pick<ChildPool, 'free'>;
  readonly transactions: Pick<TaskTransactions, 'endSession'>;
  readonly workerId: WorkerId;
  readonly notes: Pick<ProgressNotes, 'add'>;
  readonly quiet: boolean | undefined;
}

/**
 * One attempt whose handler runs in a child. The child completes the attempt in the transaction that it has itself, under this
 * worker's id and reservation: whatever becomes of the child, that guard decides.
 */
export class ChildRun implements RunningContext, NotedAttempt {
  readonly claimed: ClaimedTask;
  readonly #parts: ChildRunParts;
  readonly #handler: Handler;
  #child: Child | undefined;
  #aborted: Error | undefined;

  constructor(claimed: ClaimedTask, handler: Handler, parts: ChildRunParts) {
    this.claimed = claimed;
    this.#handler = handler;
    this.#parts = parts;
  }

  get aborted(): Error | undefined {
    return this.#aborted;
  }

  get ended(): boolean {
    return this.#child === undefined;
  }

  get completedElsewhere(): RecordedReturn | undefined {
    return this.#child?.completed;
  }

  /** Tells the handler to stop. */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#child?.tell({ type: 'abort', reason: serializeError(reason) });
  }

  /** Ends the handler with its child. */
  destroy(reason: Error): void {
    this.#aborted ??= reason;
    this.#child?.kill(reason);
  }

  /** Runs the handler, unless no child is free: then claims have brought too many, or one has just ended. Never rejects. */
  async run(): Promise<RunEnd> {
    const { pool, workerId, notes, quiet } = this.#parts;
    const child = pool.free;
    if (!child) return { kind: 'not started' };
    this.#child = child;
    const timer = this.#startTimer(child);
    const order = { type: 'run', workerId, claimed: sendable(this.claimed), quiet } as const;
    const ended = await child.run(order, (message) => notes.add(this, message));
    clearTimeout(timer);
    this.#child = undefined;
    return this.#readEnd(ended);
  }

  #startTimer(child: Child): NodeJS.Timeout | undefined {
    const { name, rules } = this.#handler;
    const timeoutMs = timeoutOf(this.claimed.task, rules);
    if (timeoutMs === undefined) return undefined;
    return setTimeout(() => child.kill(timedOut(name, timeoutMs)), timeoutMs);
  }

  async #readEnd(ended: ChildEnd): Promise<RunEnd> {
    if (ended.kind === 'gone') {
      // A server at work on a statement does not notice that its client is gone, and keeps its locks.
      if (ended.session) await this.#parts.transactions.endSession(ended.session);
      // Its COMMIT may have been on the way.
      return { kind: 'unknown', error: ended.error, recorded: undefined };
    }
    const { end } = ended;
    return 'error' in end ? { ...end, error: deserializeError(end.error) } : end;
  }
}
