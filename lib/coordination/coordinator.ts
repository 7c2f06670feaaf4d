import type { WorkerId } from '../storage/storage.js';

/** What a ring says: that there may be something to do. */
export interface Ring {
  /** True when some of the new tasks are for later: timers may have to be set earlier. */
  readonly later: boolean;
  /** True when workers are told to stop after their current work. */
  readonly halt: boolean;
}

/** The administrative work that one worker at a time does for all. */
export type Routine = 'retry' | 'notify' | 'purge' | 'recover' | 'isolate';

/** Told by a coordinator to its worker. */
export interface CoordinatorListeners {
  ring(ring: Ring): void;
  /** Liveness was lost: other workers may recover what this one holds. */
  lost(error: unknown): void;
  /** Liveness is held again, under the same id. */
  restored(): void;
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
  ring(ring?: Partial<Ring>): void;
  /** Runs `work` unless another worker runs that routine now; answers undefined when one does. */
  exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined>;
  /** Tries to become, and stay, the one worker that does a routine, until liveness is lost. */
  lead(routine: Routine): Promise<boolean>;
  /** Those of the given workers whose liveness is not held; undefined while it is too early to tell. */
  findLost(workerIds: readonly WorkerId[]): Promise<readonly WorkerId[] | undefined>;
  /** Gives liveness and locks up. Idempotent. */
  stop(): Promise<void>;
}
