import type { NextDue } from '../../storage/attempt.js';
import { Alarm } from '../../timing/alarm.js';
import { PollPace } from '../../timing/poll-pace.js';

/** What the timers of a worker call. */
export interface RemindersParts {
  /** Claim, because there may be something new. */
  readonly wake: () => void;
  /** Look at what is due, and for new routes. */
  readonly look: () => void;
  /** Compare table and memory, and look. */
  readonly compare: () => void;
  /** Compare table and memory, when the table holds something unknown to the worker. */
  readonly reconcile: () => void;
  /** True when no attempt runs and no connection was lost recently. */
  readonly isIdle: () => boolean;
  /** Asks when something is due, whether the worker holds anything, and whether it was told to stop. */
  readonly nextDue: () => Promise<NextDue>;
  /** Asks, by a statement of its own, whether the worker was told to stop; its row is written again when it is gone. */
  readonly askHalted: () => void;
  /** The worker was told to stop. */
  readonly halted: () => void;
  /** How often to do so without being told; 0 never. */
  readonly pollIntervalMs: number;
  /** How often while something was found lately, where polls alone find what users' transactions insert. */
  readonly busyPollMs?: number | undefined;
}

/** After its last task a worker looks again, for commits whose ring came too early. */
const lookAgainMs = [50, 500] as const;
/** How often a worker looks at least that hears no rings, though it should. */
export const unheardPollMs = 1_000;
/** What another session has locked is tried again after that many ms. */
const lockedAgainMs = 1_000;

/** The timers of a worker, for everything that no ring announces. None is set unless `start` was called. */
export class Reminders {
  readonly #parts: RemindersParts;
  readonly #due: Alarm;
  readonly #claim: Alarm;
  #poll: NodeJS.Timeout | undefined;
  #polledAt = 0;
  #comparedAt = -Infinity;
  readonly #pace: PollPace | undefined;
  #lookAgain: readonly NodeJS.Timeout[] = [];
  #started = false;
  #pollMs: number;

  constructor(parts: RemindersParts) {
    this.#parts = parts;
    this.#due = new Alarm(parts.look);
    this.#claim = new Alarm(parts.wake);
    this.#pollMs = parts.pollIntervalMs;
    const { busyPollMs: busyMs, pollIntervalMs: idleMs } = parts;
    // Who never polls does so while it hears nothing, at the pace of that.
    this.#pace = busyMs === undefined || idleMs === 0 ? undefined : new PollPace({ busyMs, idleMs });
  }

  start(): void {
    this.#started = true;
    this.#polledAt = performance.now();
    if (this.#pollMs > 0) this.#pollLater();
  }

  /** While rings do not come, polls have to come more often. */
  hears(isHearing: boolean): void {
    const { pollIntervalMs } = this.#parts;
    this.#pollMs = isHearing ? pollIntervalMs : Math.min(pollIntervalMs || unheardPollMs, unheardPollMs);
    clearTimeout(this.#poll);
    this.#poll = undefined;
    if (this.#started) this.start();
  }

  stop(): void {
    this.#started = false;
    clearTimeout(this.#poll);
    this.#due.clear();
    this.#claim.clear();
    this.#clearLookAgain();
  }

  /** True when a poll is overdue: the process stood still, or its event loop was blocked, and the timer comes later. */
  get pollMissed(): boolean {
    return this.#poll !== undefined && performance.now() - this.#polledAt > this.#pollMs;
  }

  /** A scheduled attempt is due then; if that is past, it should have been promoted already, and another session has it locked. */
  lookIn(ms: number): void {
    if (this.#started) this.#due.setEarlier(ms > 0 ? ms : lockedAgainMs);
  }

  /** A claim may find then what the last one could not take or see. */
  claimIn(ms: number): void {
    if (this.#started) this.#claim.setEarlier(ms);
  }

  /** No ring announces that a lock was released. */
  retryLocked(): void {
    this.claimIn(lockedAgainMs);
  }

  /** A route that had tasks may get more. */
  expectMore(): void {
    this.#pace?.found();
    this.#clearLookAgain();
    if (this.#started) this.#lookAgain = lookAgainMs.map((delay) => setTimeout(this.#parts.wake, delay));
  }

  #pollLater(): void {
    const ms = Math.min(this.#pace?.next() ?? this.#pollMs, this.#pollMs);
    this.#poll = setTimeout(() => {
      this.#pollLater();
      void this.#onPoll();
    }, ms);
  }

  /** An idle worker asks by one statement whether there is anything to do; a full look takes several. */
  async #onPoll(): Promise<void> {
    this.#polledAt = performance.now();
    const { compare, isIdle, nextDue, reconcile, askHalted, halted, look } = this.#parts;
    if (!isIdle()) {
      // Of frequent polls only some compare.
      if (this.#pace && this.#polledAt - this.#comparedAt < this.#pollMs) return look();
      this.#comparedAt = this.#polledAt;
      askHalted();
      return compare();
    }
    // A comparison meets the same error of the database, and reports it.
    const next = await nextDue().catch(compare);
    if (next?.halted) return halted();
    if (next && next.halted === undefined) askHalted();
    if (next?.holding) return reconcile();
    if (next?.inMs === undefined) return;
    if (next.inMs > 0) this.lookIn(next.inMs);
    else compare();
  }

  #clearLookAgain(): void {
    for (const timer of this.#lookAgain) clearTimeout(timer);
  }
}
