/** So many may have something at once; the others wait, the first to ask first. */
export class Slots {
  #free: number;
  readonly #waiting: { readonly go: () => void; readonly fail: (error: Error) => void }[] = [];
  #closed: Error | undefined;

  constructor(number: number) {
    this.#free = number;
  }

  /** Resolves when there is one for the caller, who gives it back. Rejects once they are closed. */
  take(): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    if (this.#free > 0) {
      this.#free -= 1;
      return Promise.resolve();
    }
    return new Promise((go, fail) => this.#waiting.push({ go, fail }));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next.go();
    else this.#free += 1;
  }

  /** Whoever waits, or comes later, is told that error. */
  close(error: Error): void {
    this.#closed = error;
    for (const { fail } of this.#waiting.splice(0)) fail(error);
  }
}
