/**
 * The offered load of a fixed rate. It is credited by the time that has really passed, never by rounds of a loop: a slow
 * insert delays jobs, but takes none away.
 */
export class Credit {
  #jobs = 0;
  #lastMs: number;

  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  /** Credits the time since the last call. */
  earn(nowMs: number, perSecond: number): void {
    this.#jobs += ((nowMs - this.#lastMs) / 1_000) * perSecond;
    this.#lastMs = nowMs;
  }

  /** Takes whole jobs, at most so many. */
  take(most: number): number {
    const jobs = Math.min(Math.floor(this.#jobs), most);
    this.#jobs -= jobs;
    return jobs;
  }

  /** Returns jobs that could not be inserted. */
  giveBack(jobs: number): void {
    this.#jobs += jobs;
  }
}
