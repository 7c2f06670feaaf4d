import type { Claims } from '../../storage/claims.js';
import { Backoff } from '../../timing/backoff.js';
import type { Signal } from '../../timing/signal.js';

/**
 * Opens what a second statement is sent through while the first one works: no slot and no outcome waits for a connection
 * that a busy process or a slow server takes long to open.
 */
export class SecondStatement {
  readonly #claims: Pick<Claims, 'openAnother'>;
  readonly #changed: Signal;
  readonly #backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
  #opening = false;

  /** @param changed set when it is worth asking again */
  constructor(claims: Pick<Claims, 'openAnother'>, changed: Signal) {
    this.#claims = claims;
    this.#changed = changed;
  }

  /** True when it can be sent at once; otherwise starts to open its connection. */
  canBeSent(): boolean {
    if (this.#opening) return false;
    const opening = this.#claims.openAnother();
    if (!opening) return true;
    this.#opening = true;
    void this.#wait(opening);
    return false;
  }

  /** For shutdown: opening is not tried again. */
  stop(): void {
    this.#backoff.cancel();
  }

  async #wait(opening: Promise<void>): Promise<void> {
    try {
      await opening;
      this.#backoff.reset();
    } catch {
      // The connection emits its own event when it cannot be opened.
      await this.#backoff.wait();
    }
    this.#opening = false;
    this.#changed.set();
  }
}
