import { Signal } from '../../timing/signal.js';

/** Which of the two statements that a worker may keep under way. */
export type StatementName = 'first' | 'second';

/**
 * What the statements under way may claim. A worker with many slots keeps two under way, each for half of its slots, where
 * its database gains by that.
 */
export class StatementsUnderWay {
  /** Attempts that one statement settles and claims at most. */
  readonly share: number;
  /** Set when the first statement is sent: the second may go along. */
  readonly firstSent = new Signal();
  readonly #slots = new Map<StatementName, number>();
  /** Slots that they may fill, or have yet to free. */
  slots = 0;

  /** @param parallel statements that are worth keeping under way */
  constructor(concurrency: number, parallel: number) {
    this.share = Math.ceil(concurrency / parallel);
  }

  has(name: StatementName): boolean {
    return this.#slots.has(name);
  }

  begin(name: StatementName, slots: number): void {
    this.end(name);
    this.slots += slots;
    this.#slots.set(name, slots);
    if (name === 'first') this.firstSent.set();
  }

  end(name: StatementName): void {
    this.slots -= this.#slots.get(name) ?? 0;
    this.#slots.delete(name);
  }
}
