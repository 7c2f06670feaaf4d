import type { WorkerId } from '../attempt.js';
import type {
  DetachedWorkerRow,
  LookForMissing,
  MissingWorkers,
  WorkerDescription,
  WorkerRegistry,
} from '../workers.js';
import { isHeldBy, isRunning, routeOf } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

const dayMs = 86_400_000;

/** {@link WorkerRegistry} in memory. */
export class MemoryWorkers implements WorkerRegistry {
  readonly #table: MemoryTable;
  readonly #living: ReadonlySet<WorkerId>;
  readonly #routines = new Set<string>();
  #ids = 0;

  /** @param living workers whose liveness is held */
  constructor(table: MemoryTable, living: ReadonlySet<WorkerId> = new Set()) {
    this.#table = table;
    this.#living = living;
  }

  async register(worker: WorkerDescription): Promise<WorkerId> {
    do this.#ids += 1;
    while (this.#table.rows.some((row) => isHeldBy(row, String(this.#ids))));
    const id = String(this.#ids);
    this.#table.workers.set(id, { ...worker });
    return id;
  }

  async withdraw(workerId: WorkerId): Promise<void> {
    this.#table.workers.delete(workerId);
  }

  async restore(workerId: WorkerId, worker: WorkerDescription): Promise<void> {
    if (!this.#table.workers.has(workerId)) this.#table.workers.set(workerId, { ...worker });
  }

  async retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void> {
    const worker = this.#table.workers.get(workerId);
    if (!worker || worker.stoppedAt !== undefined) return;
    if (why === 'lost' && worker.missedAt === undefined) return;
    if (this.#table.rows.some((row) => isHeldBy(row, workerId))) return;
    worker.stoppedAt = this.#table.nowMs;
  }

  async revive(workerId: WorkerId): Promise<void> {
    const worker = this.#table.workers.get(workerId);
    if (worker) Object.assign(worker, { stoppedAt: undefined, missedAt: undefined });
  }

  async renewLease(workerId: WorkerId, forMs: number): Promise<void> {
    const worker = this.#table.workers.get(workerId);
    if (worker) Object.assign(worker, { stoppedAt: undefined, leaseUntil: this.#table.nowMs + forMs });
  }

  async runAlone<T>(routine: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#routines.has(routine)) return undefined;
    this.#routines.add(routine);
    try {
      return await work();
    } finally {
      this.#routines.delete(routine);
    }
  }

  async findMissing({ looker, others }: LookForMissing): Promise<MissingWorkers> {
    const running = [...this.#table.workers].filter(([, { stoppedAt }]) => stoppedAt === undefined);
    const known = new Set([...running.map(([id]) => id), ...others]);
    return {
      missing: [...known].filter((id) => !this.#isAlive(id)),
      noted: running.some(([, { missedAt }]) => missedAt !== undefined),
      hasOthers: running.some(([id]) => id !== looker),
      atMs: this.#table.nowMs,
      notifyUsage: undefined,
    };
  }

  async haltAll(): Promise<readonly WorkerId[]> {
    const running = [...this.#table.workers].filter(([, { stoppedAt }]) => stoppedAt === undefined);
    for (const [, worker] of running) worker.halted = true;
    return running.map(([id]) => id);
  }

  async isHalted(workerId: WorkerId): Promise<boolean | undefined> {
    const worker = this.#table.workers.get(workerId);
    return worker && (worker.halted ?? false);
  }

  async detachedOn(host: string): Promise<readonly DetachedWorkerRow[]> {
    const { workers, rows } = this.#table;
    return [...workers].flatMap(([id, worker]) => {
      const parent = workers.get(worker.detached?.parent ?? '');
      if (!worker.detached || worker.stoppedAt !== undefined || worker.host !== host) return [];
      const parentPid = parent?.stoppedAt === undefined ? parent?.pid : undefined;
      return rows.filter((row) => isHeldBy(row, id)).map((row) => ({ route: routeOf(row), parentPid }));
    });
  }

  async unregisteredHolders(): Promise<readonly (WorkerId | undefined)[]> {
    const holders = new Set(this.#table.rows.filter(isRunning).map((row) => row['executor'] ?? undefined));
    return [...holders].filter((id) => {
      const worker = id === undefined ? undefined : this.#table.workers.get(id);
      return worker === undefined || worker.stoppedAt !== undefined;
    });
  }

  async confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]> {
    const { workers, nowMs } = this.#table;
    const lost = missing.filter((id) => {
      const worker = workers.get(id);
      return worker === undefined || (worker.missedAt ?? Infinity) <= nowMs - missingForMs;
    });
    for (const [id, worker] of workers) {
      worker.missedAt = missing.includes(id) ? Math.min(worker.missedAt ?? nowMs, nowMs) : undefined;
    }
    return lost;
  }

  async forget(olderThanDays: number): Promise<void> {
    const { workers, nowMs } = this.#table;
    for (const [id, { stoppedAt }] of workers) {
      if (stoppedAt !== undefined && stoppedAt < nowMs - olderThanDays * dayMs) workers.delete(id);
    }
  }

  #isAlive(id: WorkerId): boolean {
    return this.#living.has(id) || this.#table.isLeased(this.#table.workers.get(id) ?? {});
  }
}
