import type { Peer } from './peer.js';

/**
 * A worker of nsj-queue-lib that has just said that it sleeps reads one message at a time: with a NOTIFY behind the answer it would
 * take both for one, and connect again.
 */
const restMs = 200;

/**
 * A worker on the notify port: `free` until it is sent NOTIFY, `asked` until it answers, `busy` until it says that it sleeps, and
 * `resting` for a moment after that. One that was halted is not asked again.
 */
export class NotifiedWorker {
  readonly #peer: Pick<Peer, 'send' | 'cut'>;
  readonly #answerMs: number;
  #state: 'free' | 'asked' | 'busy' | 'resting' | 'halted' = 'free';
  /** There may be something to do that it was not told of. */
  #isWanted = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param answerMs how long it may take to answer NOTIFY */
  constructor(peer: Pick<Peer, 'send' | 'cut'>, answerMs: number) {
    this.#peer = peer;
    this.#answerMs = answerMs;
  }

  /** There may be something to do: it is told now, or as soon as it is free. */
  wake(): void {
    this.#isWanted = true;
    if (this.#state !== 'free') return;
    this.#isWanted = false;
    this.#state = 'asked';
    this.#peer.send('NOTIFY');
    this.#timer = setTimeout(
      () => this.#peer.cut(`it did not answer NOTIFY within ${this.#answerMs} ms`),
      this.#answerMs,
    );
  }

  /** Takes a message that is no call; returns whether it was the answer to NOTIFY. */
  hears(message: string): boolean {
    if (this.#state !== 'asked') return false;
    clearTimeout(this.#timer);
    this.#state = message.toUpperCase() === 'TRUE' ? 'busy' : 'free';
    return true;
  }

  /** It has nothing to do any more. */
  sleep(): void {
    if (this.#state === 'halted') return;
    clearTimeout(this.#timer);
    this.#state = 'resting';
    this.#timer = setTimeout(() => {
      this.#state = 'free';
      if (this.#isWanted) this.wake();
    }, restMs);
  }

  /** It wants no more work. */
  halt(): void {
    clearTimeout(this.#timer);
    this.#state = 'halted';
  }

  /** Forgets its timers. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
