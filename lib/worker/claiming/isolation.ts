import type { Coordinator } from '../../coordination/coordinator.js';
import { isolatedPrefix, plainRoute } from '../../storage/route.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { DemandBook } from './demand.js';
import type { Pauses } from './pauses.js';

/** What an {@link Isolation} works with. */
export interface IsolationParts {
  readonly database: QueueDatabase;
  readonly coordinator: Coordinator;
  readonly demand: DemandBook;
  readonly pauses: Pauses;
  /** Told that it is this worker's turn, or no longer. */
  readonly changed: () => void;
}

/** A worker waits so long for its other attempts to end, before it leaves the turn to another worker. */
const patienceMs = 30_000;

/**
 * Attempts that may be what kills workers are run alone: one worker of the fleet at a time stops claiming others,
 * waits until nothing runs any more, and takes them one by one. So a task that kills its process drags no neighbour
 * along, and its fleet is one worker short at most.
 */
export class Isolation {
  readonly #parts: IsolationParts;
  #taking = false;
  #requested = false;
  #stopped = false;
  #end: (() => void) | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
  }

  /** True while this worker claims isolated attempts only, and only when it runs nothing. */
  get active(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Some attempt waits to be run alone: asks for the turn if it is this worker's to run. A turn that cannot be had is asked
   * for at the next look.
   */
  request(): void {
    this.#requested = true;
    if (!this.#taking) void this.#take().catch(() => undefined);
  }

  /** One was claimed: it may take as long as it takes. */
  claimed(): void {
    clearTimeout(this.#patience);
  }

  /** None is left. Idempotent. */
  end(): void {
    this.#end?.();
  }

  /** The worker stops: it takes no turn any more. */
  stop(): void {
    this.#stopped = true;
    this.end();
  }

  /** Looks again when asked meanwhile: the answer under way may be older than what was asked for. */
  async #take(): Promise<void> {
    this.#taking = true;
    try {
      while (this.#requested && !this.#stopped) {
        this.#requested = false;
        // Before the turn: while it is taken for nothing, somebody who needs it would be refused.
        if (!(await this.#isWanted())) continue;
        await this.#parts.coordinator.exclusively('isolate', () => this.#hold());
      }
    } finally {
      this.#taking = false;
    }
  }

  /** True when the turn would give this worker something: what others serve, or what is paused, may wait for ever. */
  async #isWanted(): Promise<boolean> {
    const { database, demand, pauses } = this.#parts;
    if (demand.mustDiscover) await this.#discover();
    const { routes, total } = demand.readIsolated(pauses);
    return database.claims.wouldClaim({ shape: 'counted', stretches: routes, total, dead: demand.dead });
  }

  async #discover(): Promise<void> {
    const { database, demand } = this.#parts;
    // Names that cannot be read are the business of `Discovery`: what is known goes on meanwhile.
    const pending = await database.attempts.pendingRoutes().catch(() => []);
    const isolated = pending.filter((route) => route.startsWith(isolatedPrefix)).map(plainRoute);
    await demand.learn(isolated);
    demand.discover(isolated);
  }

  async #hold(): Promise<void> {
    // Whoever had the turn before may have run the last one: nobody drains a worker for nothing.
    if (!(await this.#isWanted()) || this.#stopped) return;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      this.#patience = setTimeout(resolve, patienceMs);
      this.#parts.changed();
    });
    clearTimeout(this.#patience);
    this.#end = undefined;
    // Whoever has waited in vain lets others claim, and another worker have the turn, until its next look.
    this.#requested = false;
    this.#parts.changed();
  }
}
