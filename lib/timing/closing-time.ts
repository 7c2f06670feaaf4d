import { within } from './deadline.js';

/** Closing takes no longer than this besides what running handlers are given, whatever the database does. */
const closingMs = 5_000;

/**
 * The time that closing a queue may take, shared by its steps: each has what is left, but for what the steps after it
 * need. So a database that answers may take its time anywhere, and one that has fallen silent cannot keep every step
 * waiting for a time of its own. The clock stands still between two steps: that time is the application's.
 */
export class ClosingTime {
  readonly #handlersMs: number;
  #draining = 0;
  #busy = 0;
  #restingSince: number | undefined;
  #endsAt = Infinity;

  /** @param handlersMs how long running handlers may go on */
  constructor(handlersMs: number) {
    this.#handlersMs = handlersMs;
  }

  /** Waits for the running handlers of a worker, for as long as they may go on. */
  async drain(idle: Promise<unknown>): Promise<void> {
    this.#begin(this.#handlersMs + closingMs);
    this.#draining += 1;
    await within(idle, this.#handlersMs);
    this.#draining -= 1;
    if (this.#draining === 0) this.#endsAt = Math.min(this.#endsAt, performance.now() + closingMs);
    this.#rest();
  }

  /** Waits for a step, but leaves `reserveMs` to the steps after it. */
  async step(work: (leftMs: number) => Promise<unknown>, reserveMs: number): Promise<void> {
    // While another worker's handlers go on, the end is not near: what closing takes counts from when they have ended.
    this.#begin(this.#draining > 0 ? Infinity : closingMs);
    const leftMs = Math.max(0, Math.min(closingMs, this.#endsAt - performance.now()) - reserveMs);
    try {
      await within(work(leftMs), leftMs);
    } finally {
      this.#rest();
    }
  }

  #begin(mostMs: number): void {
    const now = performance.now();
    if (this.#restingSince !== undefined) this.#endsAt += now - this.#restingSince;
    this.#restingSince = undefined;
    this.#busy += 1;
    this.#endsAt = Math.min(this.#endsAt, now + mostMs);
  }

  #rest(): void {
    this.#busy -= 1;
    if (this.#busy === 0) this.#restingSince = performance.now();
  }
}

/** What the steps of closing leave to those after them, in ms; in their order. */
export const closingReserves = {
  /** Handlers that were told to stop end. */
  grace: 3_000,
  /** Outcomes are written. */
  settle: 2_000,
  /** The worker is signed off. */
  leave: 1_500,
  /** What no caller waits for: the history of what ended, rings, pools of tenants. */
  rest: 1_000,
  /** Sessions say goodbye. */
  sessions: 500,
  /** The other connections do, or are cut. */
  connections: 0,
} as const;
