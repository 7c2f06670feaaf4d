import { setTimeout as pause } from 'node:timers/promises';
import type { Bell } from '../coordination/bell.js';
import { reference, type QueueEvents } from '../events.js';
import type { ClaimedTask, FanOutOutcome, PublicationClaim, WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { ErrorKind } from '../storage/error-kind.js';
import type { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import { checkAttempt, checkSize } from '../subscribers/handler-registry.js';
import { nextAttempt } from './running/next-attempt.js';
import type { Settler } from './running/settler.js';
import type { WorkerOptions } from '../options/worker-options.js';

export interface FanOutParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'classify'>;
  readonly bell: Pick<Bell, 'ring'>;
  readonly settler: Pick<Settler, 'fail' | 'lose'>;
  readonly declared: Pick<DeclaredSubscriptions, 'of' | 'restore'>;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}

/** What is no fault of a publication's, and may be over in a moment. */
const passing: readonly ErrorKind[] = ['connection', 'locked', 'retry'];
/** When it is delivered again then, in ms; after the last of them it fails. */
const againAfterMs = [100, 500, 2_000] as const;

/**
 * Delivers publications: all claimed in one batch by one statement, however many copies they make. When that
 * fails each is done alone, so that only the one that cannot be delivered fails. What matches no subscription is discarded, but
 * not before the rows are back that this application declares for its topic.
 */
export class FanOut {
  readonly #workerId: WorkerId;
  readonly #parts: FanOutParts;

  constructor(workerId: WorkerId, parts: FanOutParts) {
    this.#workerId = workerId;
    this.#parts = parts;
  }

  /**
   * Resolves when every publication is delivered, or its failure is with the settler.
   *
   * @param tries how often that met what passes by itself
   */
  async deliver(claimed: readonly ClaimedTask[], tries = 0): Promise<void> {
    const publications = claimed.filter((one) => this.#isDeliverable(one));
    if (publications.length === 0) return;
    const sentAt = performance.now();
    try {
      const claims = publications.map((one) => this.#claimOf(one));
      const outcomes = await this.#parts.database.attempts.fanOutMany(this.#workerId, claims);
      let left = this.#report(publications, outcomes, sentAt);
      if (left.length > 0 && claims.some(({ waits }) => waits)) left = await this.#deliverAwaited(left);
      await Promise.all(left.map((publication) => this.#deliverLater(publication)));
    } catch (error) {
      const pauseMs = passing.includes(this.#parts.database.classify(error)) && againAfterMs[tries];
      if (pauseMs) {
        await pause(pauseMs);
        return this.deliver(publications, tries + 1);
      }
      if (publications.length === 1 && publications[0]) return this.#fail(publications[0], error);
      for (const one of publications) await this.deliver([one], tries);
    }
  }

  #claimOf({ id, reservation, task }: ClaimedTask): PublicationClaim {
    return { id, reservation, waits: this.#parts.declared.of(task.topic).length > 0 };
  }

  /** Some may have reached nobody because rows are gone that this application declares. Returns what was left out again. */
  async #deliverAwaited(publications: readonly ClaimedTask[]): Promise<readonly ClaimedTask[]> {
    await this.#parts.declared.restore();
    const sentAt = performance.now();
    const claims = publications.map(({ id, reservation }) => ({ id, reservation }));
    const outcomes = await this.#parts.database.attempts.fanOutMany(this.#workerId, claims);
    return this.#report(publications, outcomes, sentAt);
  }

  /** Returns the publications that were left out. */
  #report(
    publications: readonly ClaimedTask[],
    outcomes: readonly FanOutOutcome[],
    sentAt: number,
  ): readonly ClaimedTask[] {
    const deliveries = new Map(outcomes.map((outcome) => [outcome.id, outcome.deliveries]));
    if (outcomes.some((outcome) => outcome.deliveries > 0)) void this.#parts.bell.ring('tasks', { sentAt });
    for (const publication of publications) {
      const made = deliveries.get(publication.id);
      if (made === undefined) continue;
      const { events } = this.#parts;
      const task = reference(publication);
      events.emit('publication.delivered', { task, deliveries: made });
      if (made > 0) continue;
      events.emit('publication.discarded', { task, declared: this.#parts.declared.of(task.topic) });
    }
    return publications.filter(({ id }) => !deliveries.has(id));
  }

  /**
   * Lost to another worker, or locked by another session: then reading it waits for the lock to go. Or delivered before, by a
   * statement whose answer was lost: then nobody has rung.
   */
  async #deliverLater(publication: ClaimedTask): Promise<void> {
    const outcome = await this.#parts.database.attempts.readOutcome(this.#workerId, publication);
    if (outcome === 'held') await this.deliver([publication]);
    else if (outcome === 'completed') void this.#parts.bell.ring('tasks', {});
    else this.#parts.settler.lose(publication);
  }

  /** The others have failed. */
  #isDeliverable(publication: ClaimedTask): boolean {
    const { maxAttempts, maxPayloadBytes } = this.#parts.options;
    try {
      checkAttempt(publication.task, maxAttempts);
      checkSize(publication, maxPayloadBytes);
      return true;
    } catch (error) {
      this.#fail(publication, error);
      return false;
    }
  }

  #fail(publication: ClaimedTask, error: unknown): void {
    const { options, settler } = this.#parts;
    settler.fail(publication, {
      error,
      maxAttempts: options.maxAttempts,
      next: nextAttempt(error, publication.task.attempt, undefined, options),
    });
  }
}
