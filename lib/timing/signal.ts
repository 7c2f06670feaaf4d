/** One waiter, woken by `set`. Setting it without a waiter is remembered, once. */
export class Signal {
  #isSet = false;
  #wake: (() => void) | undefined;

  set(): void {
    this.#isSet = true;
    this.#wake?.();
  }

  /** Resolves when the signal is set, and clears it. */
  async wait(): Promise<void> {
    if (!this.#isSet) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    this.#isSet = false;
  }
}

/** Lets everything that is ready in this turn of the event loop happen first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
