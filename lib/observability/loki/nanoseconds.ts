/**
 * Times of lines in nanoseconds since 1970, each later than the one before: Loki keeps the order of lines with one time
 * in no stream, and takes equal lines of one time for one.
 */
export class Nanoseconds {
  #ms = 0;
  #count = 0;

  /**
   * The next time, as text of digits: a number could not hold them.
   *
   * @param now ms since 1970
   */
  next(now: number): string {
    const ms = Math.floor(now);
    // A clock that was set back does not count until it has caught up.
    if (ms > this.#ms) {
      this.#ms = ms;
      this.#count = 0;
    } else if (this.#count < 999_999) this.#count += 1;
    else {
      this.#ms += 1;
      this.#count = 0;
    }
    return `${this.#ms}${String(this.#count).padStart(6, '0')}`;
  }
}
