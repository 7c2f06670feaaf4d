import type { OwnPool } from './own-pool.js';
import { findSleepers } from './sleeper-places.js';

/** How long found sleepers are trusted to be there. */
const freshMs = 1_000;

/** Numbers of errors: the session is gone, and is another user's. */
const [gone, notOurs] = [1094, 1095];

/** Wakes the sleepers of a queue in other processes, by killing the statements that they sleep in. */
export class SleeperWaker {
  readonly #pool: Pick<OwnPool, 'query'>;
  /** What the names of the places begin with, once it is known. */
  readonly #prefix: () => string;
  /** The session of this process's own sleeper, which hears of rings without that. */
  readonly #own: () => string | undefined;
  /** Told once, where the sleepers are another user's and may not be woken. */
  readonly #refused: (error: unknown) => void;
  readonly #notOurs = new Set<string>();
  #sleepers: readonly string[] = [];
  #foundAt = -Infinity;

  constructor(
    pool: Pick<OwnPool, 'query'>,
    prefix: () => string,
    own: () => string | undefined,
    refused: (error: unknown) => void,
  ) {
    this.#pool = pool;
    this.#prefix = prefix;
    this.#own = own;
    this.#refused = refused;
  }

  /** Wakes some, by chance, and answers how many; all when there is no limit. Rejects when the connection fails. */
  async wake(most: number): Promise<number> {
    // What is for everybody is for those as well that have just fallen asleep.
    if (most === Infinity) this.#foundAt = -Infinity;
    const tried = new Set<string>();
    let woken = 0;
    for (let isFresh = false; !isFresh && woken < most;) {
      const sleepers = (await this.#find()).filter((id) => !tried.has(id));
      isFresh = true;
      for (const id of someOf(sleepers, most - woken)) {
        tried.add(id);
        if (await this.#interrupt(id)) woken += 1;
        // Others may sleep in its place.
        else isFresh = false;
      }
    }
    return woken;
  }

  /** Ends what one session sleeps in. */
  async interrupt(id: string): Promise<void> {
    await this.#pool.query(`kill query ${BigInt(id)}`);
  }

  async #find(): Promise<readonly string[]> {
    if (performance.now() - this.#foundAt > freshMs) {
      const askedAt = performance.now();
      const { rows } = await this.#pool.query(findSleepers, [this.#prefix()]);
      this.#sleepers = rows.map(({ id }) => String(id));
      this.#foundAt = askedAt;
    }
    const own = this.#own();
    return this.#sleepers.filter((id) => id !== own && !this.#notOurs.has(id));
  }

  /** False when nobody sleeps there any more. */
  async #interrupt(id: string): Promise<boolean> {
    try {
      await this.interrupt(id);
      return true;
    } catch (error) {
      const { errno } = error as { readonly errno?: unknown };
      if (errno === notOurs) this.#refuse(id, error);
      // A server that has started again gives ids to others.
      else this.#foundAt = -Infinity;
      if (errno !== gone && errno !== notOurs) throw error;
      return false;
    }
  }

  #refuse(id: string, error: unknown): void {
    if (this.#notOurs.size === 0) this.#refused(error);
    this.#notOurs.add(id);
  }
}

/** Some of them, no one more likely than another. */
function someOf(all: readonly string[], most: number): readonly string[] {
  if (all.length <= most) return all;
  const left = [...all];
  return Array.from({ length: most }, () => left.splice(Math.floor(Math.random() * left.length), 1)[0] ?? '');
}
