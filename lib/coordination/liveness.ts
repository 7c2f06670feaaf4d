import type { WorkerId } from '../storage/attempt.js';
import type { CarriedRing } from './bell.js';
import type { MissingWorkers } from '../storage/workers.js';

/** The administrative work that one worker at a time does for all. */
export type Routine = 'retry' | 'notify' | 'purge' | 'isolate';

/** Told of one's own liveness. */
export interface LivenessWatcher {
  /** Other workers may recover what this one holds. */
  lost(error: unknown): void;
  /** It is held again, under the same id. */
  restored(): void;
}

/** Shows the other workers of a queue that this one lives, and finds those that do not. */
export interface Liveness {
  /** What it hangs on, as events name it. */
  readonly connection: string;
  /** True while it is held: without it a worker must not claim. */
  readonly alive: boolean;
  /** Why it is not held, as far as that is known: what failed last. */
  readonly failure: unknown;
  /** Holds a worker's liveness until `release`; false, and nothing is held, where another one lives by that id. */
  hold(workerId: WorkerId, watcher: LivenessWatcher): Promise<boolean>;
  /** Runs `work` unless another worker runs that routine now; returns undefined when one does. */
  exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Which of the workers that have started and not stopped, and of some others, hold no liveness; undefined while this
   * worker's own was restored too recently to tell.
   *
   * @param ring sent with the look, where other workers run
   */
  findMissing(others: readonly WorkerId[], ring?: CarriedRing): Promise<MissingWorkers | undefined>;
  /** Gives liveness and locks up. Idempotent. */
  release(): Promise<void>;
}
