import { reference, type QueueEvents } from '../../events.js';
import type {
  ClaimedTask,
  Completion,
  Failure,
  FailureOutcome,
  NextAttempt,
  RetryTime,
  Route,
  Verdict,
  WorkerId,
} from '../../storage/attempt.js';
import type { SettleAndClaimResult } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { verdict } from '../../storage/failure-rule.js';
import { describeRoute, plainRoute } from '../../storage/route.js';
import { writeFailures } from '../../storage/write-failures.js';
import type { Signal } from '../../timing/signal.js';
import { failureDetail, failureMessage, type PropertiesOf } from '../../values/failure-text.js';
import { nothingReturned, notRecorded, type RecordedReturn } from './handler-context.js';
import { claimKey, RefusedOutcomes } from './refused-outcomes.js';

/** Counts successes for the history. */
export interface SuccessCounter {
  completed(route: Route, id: string): void;
}

export interface SettlerParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'classify'>;
  readonly events: QueueEvents;
  /** Set when there is something to write. */
  readonly signal: Signal;
  /** What of errors is recorded besides their messages, stacks, codes and causes. Default: nothing. */
  readonly propertiesOf?: PropertiesOf | undefined;
  /** Default: none. */
  readonly counter?: SuccessCounter | undefined;
}

/** Why and how an attempt failed. */
export interface AttemptError {
  readonly error: unknown;
  /** When it has not failed: until when it waits, as the same attempt. */
  readonly snoozedUntil?: RetryTime | undefined;
  readonly maxAttempts: number;
  readonly next: NextAttempt;
}

interface PendingCompletion {
  readonly completion: Completion;
  readonly claimed: ClaimedTask;
  readonly recorded: RecordedReturn;
}

interface PendingFailure {
  readonly failure: Failure;
  readonly claimed: ClaimedTask;
  readonly error: unknown;
}

/** Failures that the database refuses, such as by a trigger of the user's, are tried again after this time. */
const refusedRetryMs = 1_000;

/**
 * Collects how attempts ended, until the dispatcher's next statement carries it to the table. Nothing waits
 * for a timer: an outcome sets the dispatcher's signal.
 */
export class Settler {
  readonly #parts: SettlerParts;
  readonly #workerId: WorkerId;
  readonly #refused: RefusedOutcomes;
  #completions: PendingCompletion[] = [];
  #failures: PendingFailure[] = [];
  /** Failures that were refused before: each is tried alone, so that it disturbs no other. */
  #refusedFailures: PendingFailure[] = [];
  /** Failures already reported as refused: each is reported once. */
  readonly #warned = new WeakSet<ClaimedTask>();
  /** Attempts with unknown outcome at shutdown: recovery has to find their rows as they are. */
  readonly #leftIds = new Set<string>();

  constructor(workerId: WorkerId, parts: SettlerParts) {
    this.#workerId = workerId;
    this.#parts = parts;
    this.#refused = new RefusedOutcomes(workerId, parts.database, parts.events, parts.signal);
  }

  /** Outcomes that are not in the table yet. */
  get pending(): number {
    return this.unwritten + this.#refused.deferredIds.size;
  }

  /** Failures that the next statements will write: until then their rows are held, though their slots are free. */
  get failing(): number {
    return this.#failures.length + this.#refusedFailures.length;
  }

  /** Outcomes that the next statements will write, successes too: whoever claims without these leaves their slots to them. */
  get unwritten(): number {
    return this.#completions.length + this.failing;
  }

  /** True while the outcome of that attempt waits here, or was left to recovery. */
  knows(id: string): boolean {
    const isIt = ({ claimed }: { claimed: ClaimedTask }): boolean => claimed.id === id;
    const waiting = this.#lists.some((list) => list.some(isIt));
    return waiting || this.#refused.deferredIds.has(id) || this.#leftIds.has(id);
  }

  /** Attempts whose outcome waits here, or was left to recovery. */
  *ids(): Iterable<string> {
    for (const list of this.#lists) for (const { claimed } of list) yield claimed.id;
    yield* this.#refused.deferredIds;
    yield* this.#leftIds;
  }

  /** The attempt succeeded: the next statement completes it. */
  complete(claimed: ClaimedTask, recorded: RecordedReturn): void {
    this.#completions.push(pendingCompletion(claimed, recorded));
    this.#parts.signal.set();
  }

  /** The attempt failed: the next statement closes it and inserts what follows. */
  fail(claimed: ClaimedTask, { error, maxAttempts, next, snoozedUntil }: AttemptError): void {
    const { task, losses } = claimed;
    const ruled: Verdict & Pick<Failure, 'snoozed'> = snoozedUntil
      ? { next: snoozedUntil, nextLosses: losses, note: '', snoozed: true }
      : verdict({ attempt: task.attempt, losses, maxAttempts, next, lost: false });
    const failure: Failure = {
      id: claimed.id,
      reservation: claimed.reservation,
      workerId: this.#workerId,
      message: failureMessage(error),
      error: snoozedUntil ? null : failureDetail(error, this.#parts.propertiesOf),
      ...ruled,
    };
    this.#failures.push({ failure, claimed, error });
    this.#parts.signal.set();
  }

  /** Takes completions that the next statement shall carry; `settled` or `putBack` must follow. */
  take(most: number): readonly PendingCompletion[] {
    if (this.#completions.length > most) return this.#completions.splice(0, most);
    const taken = this.#completions;
    this.#completions = [];
    return taken;
  }

  /** The statement failed: the next one carries the completions. */
  putBack(taken: readonly PendingCompletion[]): void {
    this.#completions = [...taken, ...this.#completions];
  }

  /** Reports what became of the completions that were taken. */
  async settled(
    taken: readonly PendingCompletion[],
    { settledOnly }: Pick<SettleAndClaimResult, 'settledOnly'>,
  ): Promise<void> {
    const done = settledOnly && new Set(settledOnly);
    for (const one of taken) {
      if (!done || done.has(one.claimed.id)) this.completed(one.claimed, one.recorded);
    }
    if (!done) return;
    const refused = taken.filter(({ claimed }) => !done.has(claimed.id));
    await this.#refused.sort(refused, {
      retry: (again) => this.#completions.push(...again),
      // An earlier statement wrote it, but its answer was lost, so no event was emitted yet.
      writtenAs: 'completed',
      written: (one) => this.completed(one.claimed, one.recorded),
    });
  }

  /** Writes the failures; returns their outcomes, for timers and rings. */
  async flushFailures(): Promise<readonly FailureOutcome[]> {
    const [fresh, again] = [this.#failures.splice(0), this.#refusedFailures.splice(0)];
    const taken = [...fresh, ...again];
    if (taken.length === 0) return [];
    const isSnoozed = ({ failure }: PendingFailure): boolean => failure.snoozed === true;
    const batches = [
      fresh.filter((one) => !isSnoozed(one)),
      fresh.filter(isSnoozed),
      ...again.map((one) => [one]),
    ];
    const written = await writeFailures(
      this.#parts.database,
      batches.map((batch) => batch.map(({ failure }) => failure)),
    );
    const { outcomes, refused, left, error } = written;
    const byClaim = new Map(taken.map((one) => [claimKey(one.failure), one]));
    const pendingOf = (failure: Failure): PendingFailure[] => {
      const one = byClaim.get(claimKey(failure));
      byClaim.delete(claimKey(failure));
      return one ? [{ ...one, failure }] : [];
    };
    for (const one of refused) this.#tryLater(pendingOf(one.failure), one.error);
    this.#failures.unshift(...left.flatMap(pendingOf));
    this.#reportFailures(taken, outcomes);
    if (error !== undefined) throw error;
    if (left.length > 0) this.#parts.signal.set();
    const done = new Set(outcomes.map(({ id }) => id));
    await this.#refused.sort(
      [...byClaim.values()].filter(({ claimed }) => !done.has(claimed.id)),
      {
        retry: (unwritten) => this.#failures.push(...unwritten),
        writtenAs: 'failed',
        // Its event would name the time of the next attempt, which is not known.
        written: () => undefined,
      },
    );
    return outcomes;
  }

  /**
   * The database refused what the handler returned, not its success: the same completion without it. Undefined where there
   * is nothing to leave out.
   */
  withoutReturned(
    { claimed, completion }: PendingCompletion,
    refusal: unknown,
  ): PendingCompletion | undefined {
    const { message, result } = completion;
    if (result === null && message === nothingReturned.message) return undefined;
    return pendingCompletion(claimed, notRecorded(`was refused by the database: ${failureMessage(refusal)}`));
  }

  /** Emits that an attempt has succeeded, once the table says so. */
  completed(claimed: ClaimedTask, { message, problem }: RecordedReturn): void {
    const { counter, events } = this.#parts;
    counter?.completed(claimed.route, claimed.id);
    if (problem !== undefined) {
      const name = describeRoute(plainRoute(claimed.route));
      events.emit('warning', {
        message: `task ${claimed.task.firstAttemptId} (${name}) has succeeded; ${problem}`,
      });
    }
    if (!events.has('task.completed')) return;
    events.emit('task.completed', { task: reference(claimed), message });
  }

  /** The attempt belongs to another worker by now. */
  lose(claimed: ClaimedTask): void {
    this.#parts.events.emit('task.lost', { task: reference(claimed) });
  }

  /** The outcome of an attempt stays unknown until this worker has left: it ran, so it must not be given back. */
  leave(claimed: ClaimedTask): void {
    this.#leftIds.add(claimed.id);
    this.lose(claimed);
  }

  get #lists(): readonly (readonly { readonly claimed: ClaimedTask }[])[] {
    return [this.#completions, this.#failures, this.#refusedFailures];
  }

  #tryLater(some: readonly PendingFailure[], error: unknown): void {
    for (const { claimed } of some) {
      if (!this.#warned.has(claimed)) {
        const text = `attempt ${claimed.id} failed, but its failure cannot be recorded: ${failureMessage(error)}`;
        this.#parts.events.emit('warning', { message: `${text}. It stays as it is and will be retried` });
      }
      this.#warned.add(claimed);
    }
    this.#refused.defer(some, refusedRetryMs, (again) => this.#refusedFailures.push(...again));
  }

  #reportFailures(taken: readonly PendingFailure[], outcomes: readonly FailureOutcome[]): void {
    const { events } = this.#parts;
    const byId = new Map(taken.map((one) => [one.claimed.id, one]));
    for (const { id, nextAttemptInMs, deadId, cancelled, snoozed } of outcomes) {
      const one = byId.get(id);
      if (!one) continue;
      const task = reference(one.claimed);
      if (cancelled) {
        events.emit('task.cancelled', { task, ...cancelled });
        continue;
      }
      const { message } = one.failure;
      if (snoozed) {
        events.emit('task.snoozed', { task, message, error: one.error, dueInMs: nextAttemptInMs ?? 0 });
        continue;
      }
      events.emit('task.failed', { task, message, error: one.error, nextAttemptInMs });
      if (deadId !== undefined) events.emit('task.buried', { task, deadId });
    }
  }
}

function pendingCompletion(claimed: ClaimedTask, recorded: RecordedReturn): PendingCompletion {
  const { id, reservation } = claimed;
  const { message, result } = recorded;
  return { completion: { id, reservation, message, result }, claimed, recorded };
}
