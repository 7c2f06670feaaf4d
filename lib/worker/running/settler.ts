import type { QueueEvents, TaskReference } from '../../events.js';
import type {
  AttemptOutcome,
  Claim,
  ClaimedTask,
  Completion,
  Failure,
  FailureOutcome,
  NextAttempt,
  Route,
  WorkerId,
} from '../../storage/attempt.js';
import type { SettleAndClaimResult } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { blamesRow } from '../../storage/error-kind.js';
import { verdict } from '../../storage/failure-rule.js';
import { failureDetail, failureMessage, type RecordedReturn } from './outcome.js';
import type { Signal } from '../../timing/signal.js';

/** Counts what succeeds, for whoever draws it. */
export interface SuccessCounter {
  completed(route: Route, id: string): void;
}

/** Why and how an attempt failed. */
export interface AttemptError {
  readonly error: unknown;
  readonly maxAttempts: number;
  readonly next: NextAttempt;
}

interface PendingCompletion {
  readonly completion: Completion;
  readonly claimed: ClaimedTask;
}

interface PendingFailure {
  readonly failure: Failure;
  readonly claimed: ClaimedTask;
  readonly error: unknown;
}

/** What to do about outcomes of one kind that a statement did not write. */
interface RefusedKind<T> {
  readonly retry: (again: readonly T[]) => void;
  /** How the row stands when an earlier statement of ours wrote it. */
  readonly writtenAs: AttemptOutcome;
  /** Told of each that was. */
  readonly written: (one: T) => void;
}

/** Rows that somebody else has locked are tried again after so many ms. */
const lockedRetryMs = 250;

/** Failures that the database refuses, such as by a trigger of the user's, are tried again after so many ms. */
const refusedRetryMs = 1_000;

/**
 * Collects how attempts ended, until the dispatcher's next statement carries it to the table. Nothing waits
 * for a timer: an outcome sets the dispatcher's signal.
 */
export class Settler {
  readonly #database: QueueDatabase;
  readonly #events: QueueEvents;
  readonly #signal: Signal;
  #completions: PendingCompletion[] = [];
  #failures: PendingFailure[] = [];
  /** Failures of a statement that was refused: written one by one, so that only the one at fault has to wait. */
  #separated: PendingFailure[] = [];
  /** Failures said to be refused: once each. */
  readonly #warned = new WeakSet<ClaimedTask>();
  /** Outcomes of rows that somebody else has locked: waiting to be tried again. */
  readonly #deferredIds = new Set<string>();
  /** Attempts that ended, nobody knows how, while the worker left: recovery has to find their rows as they are. */
  readonly #leftIds = new Set<string>();
  readonly #counter: SuccessCounter | undefined;
  #workerId: WorkerId = '';

  constructor(database: QueueDatabase, events: QueueEvents, signal: Signal, counter?: SuccessCounter) {
    this.#counter = counter;
    this.#database = database;
    this.#events = events;
    this.#signal = signal;
  }

  start(workerId: WorkerId): void {
    this.#workerId = workerId;
  }

  /** Outcomes that are not in the table yet. */
  get pending(): number {
    return this.#completions.length + this.#failures.length + this.#separated.length + this.#deferredIds.size;
  }

  /** Failures that the next statements will write: until then their rows are held, though their slots are free. */
  get failing(): number {
    return this.#failures.length + this.#separated.length;
  }

  /** True while the outcome of that attempt waits here, or was left to recovery. */
  knows(id: string): boolean {
    const isIt = ({ claimed }: { claimed: ClaimedTask }): boolean => claimed.id === id;
    const waiting = [this.#completions, this.#failures, this.#separated].some((list) => list.some(isIt));
    return waiting || this.#deferredIds.has(id) || this.#leftIds.has(id);
  }

  /** Attempts whose outcome waits here, or was left to recovery. */
  *ids(): Iterable<string> {
    for (const list of [this.#completions, this.#failures, this.#separated]) {
      for (const { claimed } of list) yield claimed.id;
    }
    yield* this.#deferredIds;
    yield* this.#leftIds;
  }

  complete(claimed: ClaimedTask, { message, result }: RecordedReturn): void {
    const { id, reservation } = claimed;
    this.#completions.push({ completion: { id, reservation, message, result }, claimed });
    this.#signal.set();
  }

  fail(claimed: ClaimedTask, { error, maxAttempts, next }: AttemptError): void {
    const { task, losses } = claimed;
    const failure: Failure = {
      id: claimed.id,
      reservation: claimed.reservation,
      workerId: this.#workerId,
      message: failureMessage(error),
      error: failureDetail(error),
      ...verdict({ attempt: task.attempt, losses, maxAttempts, next, lost: false }),
    };
    this.#failures.push({ failure, claimed, error });
    this.#signal.set();
  }

  /** Takes completions that the next statement shall carry; `settled` or `putBack` must follow. */
  take(most: number): readonly PendingCompletion[] {
    if (this.#completions.length > most) return this.#completions.splice(0, most);
    const taken = this.#completions;
    this.#completions = [];
    return taken;
  }

  putBack(taken: readonly PendingCompletion[]): void {
    this.#completions = [...taken, ...this.#completions];
  }

  /** Tells what became of the completions that were taken. */
  async settled(
    taken: readonly PendingCompletion[],
    { settledOnly }: Pick<SettleAndClaimResult, 'settledOnly'>,
  ): Promise<void> {
    const done = settledOnly && new Set(settledOnly);
    for (const { claimed, completion } of taken) {
      if (!done || done.has(claimed.id)) this.completed(claimed, completion.message);
    }
    if (!done) return;
    const refused = taken.filter(({ claimed }) => !done.has(claimed.id));
    await this.#sortRefused(refused, {
      retry: (again) => this.#completions.push(...again),
      // What was written by a statement whose answer was lost was not said yet.
      writtenAs: 'completed',
      written: ({ claimed, completion }) => this.completed(claimed, completion.message),
    });
  }

  /** Writes the failures; returns their outcomes, for timers and rings. */
  async flushFailures(): Promise<readonly FailureOutcome[]> {
    const taken = this.#separated.length > 0 ? this.#separated.splice(0, 1) : this.#failures.splice(0);
    if (taken.length === 0) return [];
    if (this.#separated.length + this.#failures.length > 0) this.#signal.set();
    let outcomes: readonly FailureOutcome[];
    try {
      outcomes = await this.#database.attempts.failMany(taken.map(({ failure }) => failure));
    } catch (error) {
      if (blamesRow(this.#database.classify(error))) {
        this.#separate(taken, error);
        return [];
      }
      this.#failures.unshift(...taken);
      throw error;
    }
    this.#reportFailures(taken, outcomes);
    const written = new Set(outcomes.map(({ id }) => id));
    const refused = taken.filter(({ claimed }) => !written.has(claimed.id));
    await this.#sortRefused(refused, {
      retry: (again) => this.#failures.push(...again),
      writtenAs: 'failed',
      // The time of its next attempt, which its event tells, is not known.
      written: () => undefined,
    });
    return outcomes;
  }

  /** Tells that an attempt has succeeded, and that it stands in the table. */
  completed(claimed: ClaimedTask, message: string): void {
    this.#counter?.completed(claimed.route, claimed.id);
    if (!this.#events.has('task.completed')) return;
    this.#events.emit('task.completed', { task: reference(claimed), message });
  }

  /** The outcome of an attempt was refused everywhere: somebody else owns it by now. */
  lose(claimed: ClaimedTask): void {
    this.#events.emit('task.lost', { task: reference(claimed) });
  }

  /** How an attempt ended cannot be told before this worker is gone: it was run, so it must not be given back. */
  leave(claimed: ClaimedTask): void {
    this.#leftIds.add(claimed.id);
    this.lose(claimed);
  }

  /** Of several each is tried alone; one alone is tried as plain as can be, and then again in a moment. */
  #separate(taken: readonly PendingFailure[], error: unknown): void {
    const [first] = taken;
    const isValue = this.#database.classify(error) === 'value';
    const plain = first && isValue ? asPlain(first.failure) : undefined;
    if (!first || taken.length > 1) {
      this.#separated.push(...taken);
    } else if (plain) {
      this.#separated.unshift({ ...first, failure: plain });
    } else {
      if (!this.#warned.has(first.claimed)) {
        const text = `attempt ${first.claimed.id} failed, but that cannot be recorded: ${failureMessage(error)}`;
        this.#events.emit('warning', { message: `${text}. It stays as it is and is tried again` });
      }
      this.#warned.add(first.claimed);
      this.#defer([first], refusedRetryMs, (again) => this.#separated.push(...again));
    }
    this.#signal.set();
  }

  #defer<T extends { readonly claimed: ClaimedTask }>(
    some: readonly T[],
    delayMs: number,
    retry: (again: readonly T[]) => void,
  ): void {
    for (const { claimed } of some) this.#deferredIds.add(claimed.id);
    setTimeout(() => {
      for (const { claimed } of some) this.#deferredIds.delete(claimed.id);
      retry(some);
      this.#signal.set();
    }, delayMs);
  }

  #reportFailures(taken: readonly PendingFailure[], outcomes: readonly FailureOutcome[]): void {
    const byId = new Map(taken.map((one) => [one.claimed.id, one]));
    for (const outcome of outcomes) {
      const one = byId.get(outcome.id);
      if (!one) continue;
      const task = reference(one.claimed);
      const { message } = one.failure;
      const { nextAttemptInMs, deadId } = outcome;
      this.#events.emit('task.failed', { task, message, error: one.error, nextAttemptInMs });
      if (deadId !== undefined) this.#events.emit('task.buried', { task, deadId });
    }
  }

  /** Rows that are still ours were locked by somebody: tried again in a moment. The others are explained. */
  async #sortRefused<T extends { readonly claimed: ClaimedTask }>(
    refused: readonly T[],
    kind: RefusedKind<T>,
  ): Promise<void> {
    if (refused.length === 0) return;
    let held: ReadonlySet<string>;
    try {
      const ids = refused.map(({ claimed }) => claimed.id);
      held = new Set((await this.#database.attempts.stillHeld(this.#workerId, ids)).map(claimKey));
    } catch (error) {
      kind.retry(refused);
      throw error;
    }
    const locked = refused.filter(({ claimed }) => held.has(claimKey(claimed)));
    for (const one of refused) if (!locked.includes(one)) void this.#explainRefused(one, kind);
    if (locked.length > 0) this.#defer(locked, lockedRetryMs, kind.retry);
  }

  /** Refused because it was written already, by a statement whose answer was lost; or lost to another worker. */
  async #explainRefused<T extends { readonly claimed: ClaimedTask }>(
    one: T,
    { writtenAs, written }: RefusedKind<T>,
  ): Promise<void> {
    const outcome = await this.#database.attempts
      .readOutcome(this.#workerId, one.claimed)
      .catch(() => undefined);
    if (outcome === writtenAs) written(one);
    else if (outcome !== undefined) this.lose(one.claimed);
  }
}

/** Names an attempt in events. */
export function reference({ task }: Pick<ClaimedTask, 'task'>): TaskReference {
  const { id, firstAttemptId, attempt, topic, subscriptionId, dead } = task;
  return { id, firstAttemptId, attempt, topic, subscriptionId, dead };
}

/**
 * A failure of which the database refused a value, written more plainly: first without looking at its payload, then without
 * texts, its next attempt counted from now. Undefined when it cannot be plainer.
 */
export function asPlain(failure: Failure): Failure | undefined {
  if (!failure.untouched) return { ...failure, untouched: true };
  if (failure.message === plainMessage) return undefined;
  const { next } = failure;
  const plainNext = next && 'delayMs' in next ? ({ ...next, kind: 'after-failure' } as const) : next;
  return { ...failure, message: plainMessage, error: null, next: plainNext };
}

const plainMessage = 'failed; what it failed with could not be stored';

/** Tells one claim of an attempt from another. */
export function claimKey({ id, reservation }: Claim): string {
  return `${id}/${reservation}`;
}
