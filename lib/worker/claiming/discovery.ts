import type { ClaimedTask, Route } from '../../storage/attempt.js';
import type { Claims } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { Capacity } from './capacity.js';
import type { Unreadable } from './unreadable.js';

export interface DiscoveryParts {
  readonly database: Pick<QueueDatabase, 'attempts'>;
  readonly claims: Pick<Claims, 'claimUnattended'>;
  readonly capacity: Pick<Capacity, 'takesAnyTopic' | 'mustDiscover' | 'learn' | 'discover'>;
  readonly unreadable: Pick<Unreadable, 'end'>;
  /** Slots that are free now. */
  readonly free: () => number;
  /** Asked to look again in that many ms. */
  readonly later: (ms: number) => void;
}

/** Unknown routes are looked for no more often than that. */
const pauseMs = 100;
/** How often a worker that always finds something looks for unserved routes all the same. */
const atLeastMs = 5_000;
/** Dead attempts claimed by one statement. */
const attendedAtOnce = 100;

/** Finds what a ring may have been about besides the routes that a worker serves: other routes, and dead attempts without a handler. */
export class Discovery {
  readonly #parts: DiscoveryParts;
  #due = false;
  /** True while dead attempts may wait for a slot. */
  #owing = false;
  #lastAt = -Infinity;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
  }

  request(): void {
    this.#due = true;
  }

  /** True when a claim before it would take tasks out of turn, or keep it waiting for too long. */
  get comesFirst(): boolean {
    if (!this.#due && !this.#owing) return false;
    return (this.#due && this.#parts.capacity.takesAnyTopic) || performance.now() - this.#lastAt > atLeastMs;
  }

  /** Answers whether to look now: when it was asked to, and not at once after the last look. */
  begin(): boolean {
    const { free, later } = this.#parts;
    if (!this.#due && !(this.#owing && free() > 0)) return false;
    this.#due = false;
    const pause = this.#lastAt + pauseMs - performance.now();
    if (pause > 0) {
      later(pause);
      return false;
    }
    this.#lastAt = performance.now();
    return true;
  }

  /** Claims dead attempts that no worker has a handler for: the first worker gives them the default treatment. */
  async claimUnattended(): Promise<readonly ClaimedTask[]> {
    const { claims, unreadable, free, later } = this.#parts;
    const most = Math.min(free(), attendedAtOnce);
    this.#owing = most <= 0;
    if (this.#owing) return [];
    try {
      const claimed = await claims.claimUnattended(most);
      this.#owing = claimed.length === most;
      return claimed;
    } catch (error) {
      if (!(await unreadable.end(error, 'unattended'))) throw error;
      later(pauseMs);
      return [];
    }
  }

  /** Looks for routes without a handler of their own that are this worker's business; answers whether there are any. */
  async findRoutes(): Promise<boolean> {
    const { capacity, database } = this.#parts;
    if (!capacity.mustDiscover) return false;
    const pending = await database.attempts
      .pendingRoutes()
      .catch((error: unknown) => this.#withoutUnreadable(error));
    await capacity.learn(pending);
    return capacity.discover(pending);
  }

  /** The names of the routes cannot be read: the attempts that are to blame are ended first, then the names are read again. */
  async #withoutUnreadable(error: unknown): Promise<readonly Route[]> {
    const { unreadable, later } = this.#parts;
    if (!(await unreadable.end(error, 'every route'))) throw error;
    this.request();
    later(pauseMs);
    return [];
  }
}
