/** Between two words: a loop that says something each time would flood the event loop that hears it. */
const pauseMs = 100;

/**
 * Passes on the last of many words: the first one at once, then one a pause. What is said later is passed on without a timer, as a
 * handler that computes lets none run.
 */
export class LatestWord {
  readonly #pass: (word: string) => void;
  #passedAt = -Infinity;
  #next: string | undefined;

  constructor(pass: (word: string) => void) {
    this.#pass = pass;
  }

  say(word: string): void {
    const pauseLeftMs = this.#passedAt + pauseMs - performance.now();
    if (pauseLeftMs > 0 && this.#next === undefined) setTimeout(() => this.#passNext(), pauseLeftMs).unref();
    this.#next = word;
    if (pauseLeftMs <= 0) this.#passNext();
  }

  #passNext(): void {
    if (this.#next === undefined) return;
    const word = this.#next;
    this.#next = undefined;
    this.#passedAt = performance.now();
    this.#pass(word);
  }
}
