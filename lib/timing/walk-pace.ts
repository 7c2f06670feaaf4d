/** The part of the time that walks may take. */
const share = 0.03;

/**
 * How often to walk over an index from its front. That is cheap, unless another session holds an old snapshot: then
 * whatever was there is still there, millions of entries, and the walk is made as much rarer as it takes longer.
 */
export class WalkPace {
  readonly #leastMs: number;
  readonly #now: () => number;
  #pauseMs = 0;
  #nextAt = -Infinity;

  /**
   * @param leastMs from one walk to the next, however cheap they are
   * @param now a clock in ms that never goes back
   */
  constructor(leastMs: number, now: () => number = () => performance.now()) {
    this.#leastMs = leastMs;
    this.#now = now;
  }

  get due(): boolean {
    return this.#nextAt <= this.#now();
  }

  /** Ms until the next walk may be made. */
  get dueInMs(): number {
    return this.#nextAt - this.#now();
  }

  /** Ms from the beginning of the last walk to the next. */
  get pauseMs(): number {
    return this.#pauseMs;
  }

  /** Makes the next walk due, whatever the last one took. */
  hurry(): void {
    this.#nextAt = -Infinity;
  }

  async walk<T>(walk: () => Promise<T>): Promise<T> {
    const began = this.#now();
    const answer = await walk();
    this.ended(this.#now() - began);
    return answer;
  }

  /** A walk has ended, and how long it took in ms. */
  ended(tookMs: number): void {
    this.#pauseMs = Math.max(this.#leastMs, tookMs / share);
    this.#nextAt = this.#now() - tookMs + this.#pauseMs;
  }
}
