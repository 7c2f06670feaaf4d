import type { WorkerId } from '../storage/attempt.js';
import type { RingRequest } from './ringer.js';

/** What a ring says: that there may be something to do. */
export interface Ring {
  /** True when some of the new tasks are for later: timers may have to be set earlier. */
  readonly later: boolean;
  /** True when workers are told to stop after their current work. */
  readonly halt: boolean;
  /** True when topics or subscriptions were paused or resumed. */
  readonly paused: boolean;
  /** When the first of these tasks is due, in ms since 1970 by the database's clock; undefined when nobody said. */
  readonly dueMs: number | undefined;
  /** Their highest priority, likewise. */
  readonly highest: number | undefined;
}

/** The administrative work that one worker at a time does for all. */
export type Routine = 'retry' | 'notify' | 'purge' | 'isolate';

/** Told by a coordinator to its worker. */
export interface CoordinatorListeners {
  ring(ring: Ring): void;
  /** Liveness was lost: other workers may recover what this one holds. */
  lost(error: unknown): void;
  /** Liveness is held again, under the same id. */
  restored(): void;
  /** Another worker, perhaps one that started before this one, has just looked who is lost: nobody else needs to. */
  looked(isOlder: boolean): void;
}

/** What a look for lost workers finds. */
export interface MissingWorkers {
  /** Those whose liveness is not held. */
  readonly missing: readonly WorkerId[];
  /** True when the table says of somebody that he is missing. */
  readonly noted: boolean;
}

/**
 * The seam between workers and whatever makes them know of each other: liveness, routine locks and wake-ups.
 */
export interface Coordinator {
  /** What liveness hangs on, as events name it. */
  readonly connection: string;
  /** Starts listening and holds this worker's liveness until `stop`. */
  start(workerId: WorkerId, listeners: CoordinatorListeners): Promise<void>;
  /** True while liveness is held: without it a worker must not claim. */
  readonly alive: boolean;
  /** Wakes all workers of the queue; rings that come while one is on its way become one. */
  ring(ring?: RingRequest): void;
  /** Runs `work` unless another worker runs that routine now; answers undefined when one does. */
  exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Which of the workers that have started and not stopped, and of some others, are missing; undefined while it is
   * too early to tell. Tells the other workers that somebody has looked, where they can be told.
   */
  findLost(others: readonly WorkerId[]): Promise<MissingWorkers | undefined>;
  /** Gives liveness and locks up. Idempotent. */
  stop(): Promise<void>;
}
