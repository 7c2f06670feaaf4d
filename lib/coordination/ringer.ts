import { together, type RingRequest } from './ring.js';

/** Sends one ring; resolves when it is on its way. */
export type SendRing = (ring: RingRequest) => Promise<void>;

/**
 * Rings for what this process committed. While one ring is on its way the next ones become one, so that a
 * producer at full speed rings once per round trip and not once per task. The first goes at once.
 */
export class Ringer {
  readonly #send: SendRing;
  readonly #pauseMs: number;
  /** True while no ring is on its way. */
  idle = true;
  #sent = Promise.resolve();
  #next: RingRequest | undefined;

  /**
   * @param send may fail: a lost ring delays a task until the next poll, it does not lose it
   * @param pauseMs from one ring to the next, where each costs this process as much as an insert does
   */
  constructor(send: SendRing, pauseMs = 0) {
    this.#send = send;
    this.#pauseMs = pauseMs;
  }

  ring(ring: RingRequest = {}): void {
    this.#next = this.#next ? together(this.#next, ring) : ring;
    if (this.idle) this.#sent = this.#drain();
  }

  /** Resolves when every ring so far is on its way: before the connections are closed. */
  settled(): Promise<void> {
    return this.#sent;
  }

  async #drain(): Promise<void> {
    this.idle = false;
    while (this.#next) {
      const ring = this.#next;
      this.#next = undefined;
      await this.#send(ring).catch(() => undefined);
      if (this.#pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
    }
    this.idle = true;
  }
}
