/** An answer did not come in time. */
export class LateAnswer extends Error {
  override readonly message = 'no answer in time';
}

/** Counts the statements that are under way on a connection, and says when an answer takes too long. */
export class AnswerWatch {
  readonly #mostMs: number;
  readonly #late: () => void;
  #answers = 0;
  #streams = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param mostMs 0: no limit */
  constructor(mostMs: number, late: () => void) {
    this.#mostMs = mostMs;
    this.#late = late;
  }

  /** True when nothing is under way, so far as one is told. */
  get isQuiet(): boolean {
    return this.#answers === 0 && this.#streams === 0;
  }

  sent(): void {
    this.#answers += 1;
    if (this.#answers === 1) this.#wait();
  }

  /** Rows that are streamed may take their time, and end untold. */
  streamed(): void {
    this.#streams += 1;
  }

  answered(): void {
    if (this.#answers > 0) this.#answers -= 1;
    clearTimeout(this.#timer);
    if (this.#answers > 0) this.#wait();
  }

  /** All is answered, or will not be. */
  quiet(): void {
    this.#answers = 0;
    this.#streams = 0;
    clearTimeout(this.#timer);
  }

  #wait(): void {
    if (this.#mostMs > 0) this.#timer = setTimeout(this.#late, this.#mostMs);
  }
}
