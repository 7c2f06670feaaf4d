/** Attempts that are timed at once; older ones are forgotten. */
const most = 20_000;

/** Measures how long attempts take, from their claim to their end, for lines that say so. */
export class TaskClock {
  readonly #starts = new Map<string, number>();

  start(attemptId: string): void {
    if (this.#starts.size >= most) {
      // Whose end was not told.
      for (const [oldest] of this.#starts) {
        this.#starts.delete(oldest);
        break;
      }
    }
    this.#starts.set(attemptId, performance.now());
  }

  /** Ms since its start; undefined when that is not known. */
  stop(attemptId: string): number | undefined {
    const start = this.#starts.get(attemptId);
    if (start === undefined) return undefined;
    this.#starts.delete(attemptId);
    return Math.round((performance.now() - start) * 10) / 10;
  }
}
