import { Alarm } from './alarm.js';

/** What a worker is reminded of. */
export interface RemindersParts {
  /** Claim, because there may be something new. */
  readonly wake: () => void;
  /** Look at what is due, and for new routes. */
  readonly look: () => void;
  /** Compare table and memory, and look. */
  readonly reconcile: () => void;
  /** How often to reconcile; 0 never. */
  readonly pollIntervalMs: number;
}

/** After its last task a worker looks again, for commits whose ring it consumed too early. */
const lookAgainMs = [50, 500] as const;
/** What somebody has locked is tried again after so many ms. */
const lockedAgainMs = 1_000;

/** The timers of a worker: whatever nobody rings for. None is set unless `start` was called. */
export class Reminders {
  readonly #parts: RemindersParts;
  readonly #due: Alarm;
  readonly #locked: Alarm;
  #poll: NodeJS.Timeout | undefined;
  #lookAgain: readonly NodeJS.Timeout[] = [];
  #started = false;

  constructor(parts: RemindersParts) {
    this.#parts = parts;
    this.#due = new Alarm(parts.look);
    this.#locked = new Alarm(parts.wake);
  }

  start(): void {
    this.#started = true;
    const { pollIntervalMs, reconcile } = this.#parts;
    if (pollIntervalMs > 0) this.#poll = setInterval(reconcile, pollIntervalMs);
  }

  stop(): void {
    this.#started = false;
    clearInterval(this.#poll);
    this.#due.clear();
    this.#locked.clear();
    this.#clearLookAgain();
  }

  /** A scheduled attempt is due then; it should have been promoted already, if that is past, and somebody has it locked. */
  lookIn(ms: number): void {
    if (this.#started) this.#due.setEarlier(ms > 0 ? ms : lockedAgainMs);
  }

  /** Nobody rings when a lock goes. */
  retryLocked(): void {
    if (this.#started) this.#locked.setEarlier(lockedAgainMs);
  }

  /** Where some tasks were there may be others. */
  expectMore(): void {
    this.#clearLookAgain();
    if (this.#started) this.#lookAgain = lookAgainMs.map((delay) => setTimeout(this.#parts.wake, delay));
  }

  #clearLookAgain(): void {
    for (const timer of this.#lookAgain) clearTimeout(timer);
  }
}
