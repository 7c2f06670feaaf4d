import type { ClaimedTask, Route, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { DemandBook } from './demand.js';
import type { Unreadable } from './unreadable.js';

/** What a {@link Discovery} works with. */
export interface DiscoveryParts {
  readonly database: QueueDatabase;
  readonly demand: DemandBook;
  readonly unreadable: Unreadable;
  /** Slots that are free now. */
  readonly free: () => number;
  /** Given dead attempts that were claimed. */
  readonly start: (claimed: readonly ClaimedTask[]) => void;
  /** Told of routes that were found. */
  readonly found: () => void;
  /** Asked to come back in so many ms. */
  readonly later: (ms: number) => void;
}

/** Unknown routes are looked for at most so often. */
const pauseMs = 100;
/** A worker that always finds something looks for routes that nobody serves all the same, so often. */
const atLeastMs = 5_000;
/** Dead attempts claimed by one statement. */
const attendedAtOnce = 100;

/** Finds what somebody may have rung for beside the routes that a worker serves: others, and dead attempts of nobody. */
export class Discovery {
  readonly #parts: DiscoveryParts;
  #workerId: WorkerId = '';
  #due = false;
  /** True while dead attempts may wait for a slot. */
  #owing = false;
  #lastAt = -Infinity;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
  }

  begin(workerId: WorkerId): void {
    this.#workerId = workerId;
  }

  request(): void {
    this.#due = true;
  }

  /** True when a claim before it would take tasks out of turn, or keep it waiting for too long. */
  get comesFirst(): boolean {
    if (!this.#due && !this.#owing) return false;
    return (this.#due && this.#parts.demand.takesAnyTopic) || performance.now() - this.#lastAt > atLeastMs;
  }

  /** Looks, when it was asked to. */
  async run(): Promise<void> {
    if (!this.#due && !(this.#owing && this.#parts.free() > 0)) return;
    this.#due = false;
    const { demand, database, found, later } = this.#parts;
    const pause = this.#lastAt + pauseMs - performance.now();
    if (pause > 0) return later(pause);
    this.#lastAt = performance.now();
    await this.#attend();
    if (!demand.mustDiscover) return;
    const pending = await database.attempts
      .pendingRoutes()
      .catch((error: unknown) => this.#withoutUnreadable(error));
    await demand.learn(pending);
    if (demand.discover(pending)) found();
  }

  /** Dead attempts that nobody has a handler for get the default treatment, from whoever comes first. */
  async #attend(): Promise<void> {
    const { database, unreadable, free, start, later } = this.#parts;
    const most = Math.min(free(), attendedAtOnce);
    this.#owing = most <= 0;
    if (this.#owing) return;
    try {
      const claimed = await database.claims.claimUnattended(this.#workerId, most);
      start(claimed);
      this.#owing = claimed.length === most;
    } catch (error) {
      if (!(await unreadable.end(error, this.#workerId, 'unattended'))) throw error;
      later(pauseMs);
    }
  }

  /** Not even the names of the routes can be read: what is to blame goes first, and then they are asked for again. */
  async #withoutUnreadable(error: unknown): Promise<readonly Route[]> {
    const { unreadable, later } = this.#parts;
    if (!(await unreadable.end(error, this.#workerId, 'every route'))) throw error;
    this.request();
    later(pauseMs);
    return [];
  }
}
