import type { Bell } from '../../coordination/bell.js';
import { reference, type QueueEvents } from '../../events.js';
import type { ClaimedTask, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { releaseClaims } from '../../storage/release-claims.js';
import type { Signal } from '../../timing/signal.js';
import { failureMessage } from '../../values/failure-text.js';
import { claimKey } from '../running/refused-outcomes.js';

/** Rows that another session has locked are given back after this time. */
const lockedRetryMs = 250;

/**
 * Attempts that a claim has brought after the worker was told to stop. They are given back unstarted: other workers run
 * them at once, and this one holds nothing when it signs off.
 */
export class ClaimsAfterStop {
  readonly #workerId: WorkerId;
  readonly #database: Pick<QueueDatabase, 'attempts' | 'classify'>;
  readonly #bell: Pick<Bell, 'ring'>;
  readonly #events: QueueEvents;
  /** Set when something is to be given back. */
  readonly #signal: Signal;
  /** Attempts that are not given back yet. */
  held: readonly ClaimedTask[] = [];

  constructor(
    workerId: WorkerId,
    database: Pick<QueueDatabase, 'attempts' | 'classify'>,
    bell: Pick<Bell, 'ring'>,
    events: QueueEvents,
    signal: Signal,
  ) {
    this.#workerId = workerId;
    this.#database = database;
    this.#bell = bell;
    this.#events = events;
    this.#signal = signal;
  }

  *ids(): Iterable<string> {
    for (const { id } of this.held) yield id;
  }

  add(claimed: readonly ClaimedTask[]): void {
    if (claimed.length === 0) return;
    this.held = [...this.held, ...claimed];
    this.#signal.set();
  }

  /** Gives them back. When that fails they are kept for the next call. */
  async release(): Promise<void> {
    const late = this.held;
    const { released, refused } = await releaseClaims(this.#database, this.#workerId, late);
    for (const [id, error] of refused) {
      const message = `Attempt ${id} cannot be given back: ${failureMessage(error)}. It stays as it is; recovery will try to fail it`;
      this.#events.emit('warning', { message });
    }
    for (const one of late) {
      if (!released.has(one.id)) continue;
      this.#events.emit('task.released', {
        task: reference(one),
        reason: 'its claim was answered after the worker had been told to stop',
      });
    }
    this.#drop((one) => released.has(one.id) || refused.has(one.id));
    if (released.size > 0) void this.#bell.ring('tasks', { dueMs: 0 });
    await this.#explain(late.filter(({ id }) => !released.has(id) && !refused.has(id)));
  }

  /** Rows that are still ours were locked by another session. The others were given back by a release without answer, or recovered. */
  async #explain(refused: readonly ClaimedTask[]): Promise<void> {
    if (refused.length === 0) return;
    const ids = refused.map(({ id }) => id);
    const standing = await this.#database.attempts.standing(this.#workerId, ids);
    const locked = new Set(standing.filter(({ completed }) => !completed).map(claimKey));
    this.#drop((one) => refused.includes(one) && !locked.has(claimKey(one)));
    if (locked.size > 0) setTimeout(() => this.#signal.set(), lockedRetryMs);
  }

  #drop(isGone: (one: ClaimedTask) => boolean): void {
    this.held = this.held.filter((one) => !isGone(one));
  }
}
