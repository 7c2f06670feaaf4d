import { reference, type QueueEvents } from '../../events.js';
import type { AttemptOutcome, Claim, ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { Signal } from '../../timing/signal.js';

/** An outcome to be written for an attempt. */
interface Outcome {
  readonly claimed: ClaimedTask;
}

/** What to do about outcomes of one kind that a statement did not write. */
export interface RefusedKind<T> {
  readonly retry: (again: readonly T[]) => void;
  /** How the row stands when an earlier statement of ours wrote it. */
  readonly writtenAs: AttemptOutcome;
  /** Called for each that an earlier statement wrote. */
  readonly written: (one: T) => void;
}

/** Rows that another session has locked are tried again after this time. */
const lockedRetryMs = 250;

/** Finds out why a statement did not write an outcome, and has it tried again when that may help. */
export class RefusedOutcomes {
  readonly #workerId: WorkerId;
  readonly #database: Pick<QueueDatabase, 'attempts'>;
  readonly #events: QueueEvents;
  /** Set when something is to be written again. */
  readonly #signal: Signal;
  /** Attempts whose outcome waits to be tried again. */
  readonly deferredIds = new Set<string>();

  constructor(
    workerId: WorkerId,
    database: Pick<QueueDatabase, 'attempts'>,
    events: QueueEvents,
    signal: Signal,
  ) {
    this.#workerId = workerId;
    this.#database = database;
    this.#events = events;
    this.#signal = signal;
  }

  /** Tries them again after a while. */
  defer<T extends Outcome>(some: readonly T[], delayMs: number, retry: RefusedKind<T>['retry']): void {
    for (const { claimed } of some) this.deferredIds.add(claimed.id);
    setTimeout(() => {
      for (const { claimed } of some) this.deferredIds.delete(claimed.id);
      retry(some);
      this.#signal.set();
    }, delayMs);
  }

  /** Rows that are still ours were locked by another session, and are tried again in a moment. The others are explained. */
  async sort<T extends Outcome>(refused: readonly T[], kind: RefusedKind<T>): Promise<void> {
    if (refused.length === 0) return;
    let held: ReadonlySet<string>;
    try {
      const ids = refused.map(({ claimed }) => claimed.id);
      const standing = await this.#database.attempts.standing(this.#workerId, ids);
      held = new Set(standing.filter(({ completed }) => !completed).map(claimKey));
    } catch (error) {
      kind.retry(refused);
      throw error;
    }
    const locked = refused.filter(({ claimed }) => held.has(claimKey(claimed)));
    for (const one of refused) if (!locked.includes(one)) void this.#explain(one, kind);
    if (locked.length > 0) this.defer(locked, lockedRetryMs, kind.retry);
  }

  /** Written already by a statement whose answer was lost, or given to another worker. While nobody can say, it is tried again. */
  async #explain<T extends Outcome>(one: T, { retry, writtenAs, written }: RefusedKind<T>): Promise<void> {
    const outcome = await this.#database.attempts
      .readOutcome(this.#workerId, one.claimed)
      .catch(() => undefined);
    if (outcome === undefined) this.defer([one], lockedRetryMs, retry);
    else if (outcome === writtenAs) written(one);
    else this.#events.emit('task.lost', { task: reference(one.claimed) });
  }
}

/** Identifies one claim of an attempt. */
export function claimKey({ id, reservation }: Claim): string {
  return `${id}/${reservation}`;
}
