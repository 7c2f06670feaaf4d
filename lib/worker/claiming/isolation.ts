import type { Liveness } from '../../coordination/liveness.js';
import type { RouteDemand } from '../../storage/attempt.js';
import { isolatedRange, isolatedRoute, plainRoute } from '../../storage/route.js';
import type { Claims } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { Pauses } from './pauses.js';
import type { Loop } from '../agenda.js';
import type { ServedRoutes } from './routes.js';

export interface IsolationParts {
  readonly database: Pick<QueueDatabase, 'attempts'>;
  readonly claims: Pick<Claims, 'wouldClaim'>;
  readonly liveness: Pick<Liveness, 'exclusively'>;
  readonly served: Pick<ServedRoutes, 'ranges' | 'learn' | 'has' | 'of'>;
  readonly pauses: Pick<Pauses, 'has'>;
  /** Told when it is this worker's turn, or no longer. A worker that stops takes none. */
  readonly loop: Pick<Loop, 'mode' | 'setAlone'>;
}

/** Isolated routes that are looked at: one that waits behind so many comes at a later look. */
const mostRoutes = 1_000;

/** How long a worker waits for its other attempts to end before it leaves the turn to another worker. */
const patienceMs = 30_000;

/**
 * Attempts that may be what kills workers are run alone: one worker of the fleet at a time stops claiming others,
 * waits until nothing runs any more, and takes them one by one. So a task that kills its process takes no neighbour
 * with it, and the fleet is short of one worker at most.
 */
export class Isolation {
  readonly #parts: IsolationParts;
  #taking = false;
  #requested = false;
  #routes: readonly RouteDemand[] = [];
  #end: (() => void) | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
  }

  /** What is claimed then, one at a time. */
  get routes(): readonly RouteDemand[] {
    return this.#routes;
  }

  /**
   * Some attempt waits to be run alone: asks for the turn if this worker serves it. A turn that cannot be had is asked for
   * at the next look.
   */
  request(): void {
    this.#requested = true;
    if (!this.#taking) void this.#take().catch(() => undefined);
  }

  /** One was claimed: its run is not limited. */
  claimed(): void {
    clearTimeout(this.#patience);
  }

  /** None is left. Idempotent. */
  end(): void {
    this.#end?.();
  }

  get #mayTake(): boolean {
    return this.#parts.loop.mode === 'claiming';
  }

  /** Looks again when asked meanwhile: the answer under way may be older than what was asked for. */
  async #take(): Promise<void> {
    this.#taking = true;
    try {
      while (this.#requested && this.#mayTake) {
        this.#requested = false;
        // Checked before the turn is taken: a turn taken for nothing would be refused to a worker that needs it.
        if (!(await this.#isWanted())) continue;
        await this.#parts.liveness.exclusively('isolate', () => this.#hold());
      }
    } finally {
      this.#taking = false;
    }
  }

  /** True when the turn would give this worker something: what others serve, or what is paused, may wait for ever. */
  async #isWanted(): Promise<boolean> {
    const { database, claims, served, pauses } = this.#parts;
    const ranges = served.ranges.map(isolatedRange);
    // `RouteScan` deals with names that cannot be read.
    const heads = await database.attempts.routeHeads(ranges, mostRoutes).catch(() => []);
    const routes = heads.map(({ route }) => plainRoute(route));
    await served.learn(routes);
    this.#routes = routes
      .filter((route) => served.has(route) && !pauses.has(route))
      .map((route) => ({ route: isolatedRoute(route), limit: 1, only: served.of(route).only }));
    return this.#routes.length > 0 && claims.wouldClaim(this.#routes);
  }

  async #hold(): Promise<void> {
    // The worker that had the turn before may have run the last one: no worker is drained for nothing.
    if (!(await this.#isWanted()) || !this.#mayTake) return;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      this.#patience = setTimeout(resolve, patienceMs);
      this.#parts.loop.setAlone(true);
    });
    clearTimeout(this.#patience);
    this.#end = undefined;
    // A worker that has waited without success lets another one have the turn until its next look.
    this.#requested = false;
    this.#parts.loop.setAlone(false);
  }
}
