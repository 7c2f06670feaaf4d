export interface PollPaceOptions {
  /** While something was found lately. */
  readonly busyMs: number;
  /** When nothing was found for long. */
  readonly idleMs: number;
  /** Between 0 and 1; given in tests. */
  readonly random?: () => number;
  /** Monotonic ms; given in tests. */
  readonly now?: () => number;
}

/** Something was found lately for so long. */
const latelyMs = 30_000;

/**
 * How long to wait for the next poll where polls are what finds new work: often while there is some, then twice as long each
 * time, and never at the same instants as other processes.
 */
export class PollPace {
  readonly #busyMs: number;
  readonly #idleMs: number;
  readonly #random: () => number;
  readonly #now: () => number;
  #foundAt: number;
  #idlePolls = 0;

  constructor({ busyMs, idleMs, random = Math.random, now = () => performance.now() }: PollPaceOptions) {
    this.#busyMs = Math.min(busyMs, idleMs);
    this.#idleMs = idleMs;
    this.#random = random;
    this.#now = now;
    this.#foundAt = now();
  }

  /** There was something to do. */
  found(): void {
    this.#foundAt = this.#now();
    this.#idlePolls = 0;
  }

  /** Ms until the next poll: by chance up to a quarter less than that. */
  next(): number {
    if (this.#now() - this.#foundAt >= latelyMs) this.#idlePolls += 1;
    const ms = Math.min(this.#idleMs, this.#busyMs * 2 ** this.#idlePolls);
    return ms * (1 - this.#random() / 4);
  }
}
