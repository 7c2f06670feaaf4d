import type { Ring } from './coordinator.js';

/** Text of a ring that stops the workers after their current work; nsj-queue-lib knows it as well. */
export const haltText = 'HALT';

/** Sends one ring; resolves when it is on its way. */
export type SendRing = (text: string) => Promise<void>;

/**
 * Rings for what this process committed. While one ring is on its way the next ones become one, so that a
 * producer at full speed rings once per round trip and not once per task. No timer: the first goes at once.
 */
export class Ringer {
  readonly #send: SendRing;
  #sending = false;
  #sent = Promise.resolve();
  #next: Ring | undefined;

  /** @param send may fail: a lost ring delays a task until the next poll, it does not lose it */
  constructor(send: SendRing) {
    this.#send = send;
  }

  ring(ring: Partial<Ring> = {}): void {
    this.#next = {
      later: ring.later === true || this.#next?.later === true,
      halt: ring.halt === true || this.#next?.halt === true,
    };
    if (!this.#sending) this.#sent = this.#drain();
  }

  /** Resolves when every ring so far is on its way: before the connections are closed. */
  settled(): Promise<void> {
    return this.#sent;
  }

  async #drain(): Promise<void> {
    this.#sending = true;
    while (this.#next) {
      const ring = this.#next;
      this.#next = undefined;
      await this.#send(ringText(ring)).catch(() => undefined);
    }
    this.#sending = false;
  }
}

/** Reads what a channel said. Texts of other makers mean: look. */
export function readRing(text: string | undefined): Ring {
  return { later: text?.endsWith(' later') ?? false, halt: text === haltText };
}

function ringText(ring: Ring): string {
  if (ring.halt) return haltText;
  // The trigger puts the due second and the priority in front; who rings for many at once leaves them out.
  return ring.later ? '* later' : '*';
}
