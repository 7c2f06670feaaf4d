/** The part of the time that walks may take. */
const share = 0.03;

/**
 * How often to walk over the index of running attempts. That is cheap, unless another session holds an old snapshot:
 * then whatever has run since is still there, millions of entries, and the walk is made as much rarer as it takes longer.
 */
export class WalkPace {
  readonly #leastMs: number;
  #nextAt = -Infinity;

  /** @param leastMs from one walk to the next, however cheap they are */
  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  get due(): boolean {
    return performance.now() >= this.#nextAt;
  }

  /** Makes the next walk due, whatever the last one took. */
  hurry(): void {
    this.#nextAt = -Infinity;
  }

  async walk<T>(walk: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const answer = await walk();
    this.#nextAt = began + Math.max(this.#leastMs, (performance.now() - began) / share);
    return answer;
  }
}
