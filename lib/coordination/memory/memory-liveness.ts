import type { WorkerId } from '../../storage/attempt.js';
import type { MissingWorkers, WorkerRegistry } from '../../storage/workers.js';
import type { Liveness, LivenessWatcher, Routine } from '../liveness.js';

/** What the workers of one queue in one process share. */
export class LivingWorkers {
  readonly ids = new Set<WorkerId>();
  readonly routines = new Set<Routine>();
}

/** {@link Liveness} of workers in one process. */
export class MemoryLiveness implements Liveness {
  readonly connection = 'memory';
  readonly failure = undefined;
  readonly #shared: LivingWorkers;
  readonly #workers: Pick<WorkerRegistry, 'findMissing' | 'revive'>;
  #workerId: WorkerId | undefined;

  /** @param workers knows by the same {@link LivingWorkers} who is missing */
  constructor(shared: LivingWorkers, workers: Pick<WorkerRegistry, 'findMissing' | 'revive'>) {
    this.#shared = shared;
    this.#workers = workers;
  }

  get alive(): boolean {
    return this.#workerId !== undefined && this.#shared.ids.has(this.#workerId);
  }

  async hold(workerId: WorkerId, _watcher: LivenessWatcher): Promise<boolean> {
    if (this.#shared.ids.has(workerId)) return false;
    this.#workerId = workerId;
    this.#shared.ids.add(workerId);
    await this.#workers.revive(workerId);
    return true;
  }

  async exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined> {
    const { routines } = this.#shared;
    if (routines.has(routine)) return undefined;
    routines.add(routine);
    try {
      return await work();
    } finally {
      routines.delete(routine);
    }
  }

  async findMissing(others: readonly WorkerId[]): Promise<MissingWorkers | undefined> {
    if (!this.alive) return undefined;
    return this.#workers.findMissing({ looker: this.#workerId ?? '', others, graceMs: 0 });
  }

  async release(): Promise<void> {
    if (this.#workerId !== undefined) this.#shared.ids.delete(this.#workerId);
  }
}
