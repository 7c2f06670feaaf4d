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

const longestTimer = 3_600_000;

/** One timer that is set to the earliest of what it is asked for. */
export class Alarm {
  readonly #ring: () => void;
  #timer: NodeJS.Timeout | undefined;
  #at = Infinity;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings in that many ms, or earlier if it was asked to before. Never later than in an hour. */
  setEarlier(inMs: number): void {
    const delay = Math.min(longestTimer, Math.max(0, Math.ceil(inMs)));
    const at = performance.now() + delay;
    if (at >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = at;
    this.#timer = setTimeout(() => {
      this.#at = Infinity;
      this.#ring();
    }, delay);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#at = Infinity;
  }
}
