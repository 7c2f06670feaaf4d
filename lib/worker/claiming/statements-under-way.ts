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

  /** @param parallel statements that are worth keeping under way */
  constructor(concurrency: number, parallel: number) {
    this.share = Math.ceil(concurrency / parallel);
  }

  /** Slots that they may fill, or have yet to free. */
  get slots(): number {
    let sum = 0;
    for (const slots of this.#slots.values()) sum += slots;
    return sum;
  }

  has(name: StatementName): boolean {
    return this.#slots.has(name);
  }

  begin(name: StatementName, slots: number): void {
    this.#slots.set(name, slots);
    if (name === 'first') this.firstSent.set();
  }

  end(name: StatementName): void {
    this.#slots.delete(name);
  }
}
