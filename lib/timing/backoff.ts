export interface BackoffOptions {
  readonly firstMs: number;
  readonly mostMs: number;
  /** Between 0 and 1; given in tests. */
  readonly random?: () => number;
}

/**
 * Waits longer after each failure, doubling up to a limit, with jitter so that many workers do not return at
 * the same instant.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #random: () => number;
  #failures = 0;
  #cancel: (() => void) | undefined;
  #cancelled = false;

  constructor({ firstMs, mostMs, random = Math.random }: BackoffOptions) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
    this.#random = random;
  }

  /** The next delay in ms: between half and all of the doubled one. */
  next(): number {
    const full = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#failures);
    this.#failures += 1;
    return full * (0.5 + this.#random() / 2);
  }

  /** Waits for the next delay, or until `cancel`. */
  async wait(): Promise<void> {
    if (this.#cancelled) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.next());
      this.#cancel = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#cancel = undefined;
  }

  /** After a success the next failure starts small again. */
  reset(): void {
    this.#failures = 0;
  }

  /** Ends a wait under way and all later ones: for shutdown. */
  cancel(): void {
    this.#cancelled = true;
    this.#cancel?.();
  }
}
