import type { WorkerId } from '../storage/storage.js';
import type { Coordinator, CoordinatorListeners, Ring, Routine } from './coordinator.js';
import { livenessKey, lostWorkers, readLost, routineKey } from './lost-workers.js';
import type { PostgresSession } from './postgres-session.js';
import { readRing, type Ringer } from './ringer.js';

export interface PostgresCoordinatorParts {
  /** Opens the process's session, or shares the one that is open. */
  readonly openSession: () => Promise<PostgresSession>;
  /** Closes it, unless another queue of the process still uses it. */
  readonly closeSession: () => Promise<void>;
  readonly ringer: Ringer;
  /** Undefined when workers poll instead of listening. */
  readonly channel: string | undefined;
  /** Schema-qualified table: part of every lock's key, so that queues never meet. */
  readonly qualifiedTable: string;
  /** Quoted name of the workers' table. */
  readonly workers: string;
  /**
   * No worker is called lost so soon after the server's start, or after this session came back: others may still be
   * reconnecting.
   */
  readonly graceMs: number;
}

/**
 * {@link Coordinator} on one PostgreSQL session. A worker's liveness is an advisory lock of that session: no
 * timer renews it, so a blocked event loop loses nothing, and the server frees it the moment the connection
 * of a killed process closes.
 */
export class PostgresCoordinator implements Coordinator {
  readonly connection = 'session';
  readonly #parts: PostgresCoordinatorParts;
  #session: PostgresSession | undefined;
  #liveness: string | undefined;
  #alive = false;
  #stopListening: (() => Promise<void>) | undefined;
  #stopWatching: (() => void) | undefined;
  readonly #leading = new Set<string>();

  constructor(parts: PostgresCoordinatorParts) {
    this.#parts = parts;
  }

  get alive(): boolean {
    return this.#alive && this.#session?.up === true;
  }

  async start(workerId: WorkerId, listeners: CoordinatorListeners): Promise<void> {
    const session = await this.#parts.openSession();
    this.#session = session;
    const { channel } = this.#parts;
    const key = this.#livenessKey(workerId);
    await session.hold(key);
    this.#liveness = key;
    this.#alive = true;
    this.#stopWatching = session.watch({
      lost: (error) => {
        this.#leading.clear();
        listeners.lost(error);
      },
      restored: () => listeners.restored(),
    });
    if (channel !== undefined) {
      this.#stopListening = await session.listen(channel, (text) => listeners.ring(readRing(text)));
    }
  }

  ring(ring: Partial<Ring> = {}): void {
    this.#parts.ringer.ring(ring);
  }

  async exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined> {
    const key = this.#routineKey(routine);
    const session = this.#session;
    if (!session?.up || !(await session.tryLock(key))) return undefined;
    try {
      return await work();
    } finally {
      await session.unlock(key);
    }
  }

  async lead(routine: Routine): Promise<boolean> {
    const key = this.#routineKey(routine);
    const session = this.#session;
    if (!session?.up) return false;
    if (this.#leading.has(key)) return true;
    if (!(await session.tryLock(key))) return false;
    this.#leading.add(key);
    return true;
  }

  async findLost(workerIds: readonly WorkerId[]): Promise<readonly WorkerId[] | undefined> {
    const session = this.#session;
    const { graceMs, workers } = this.#parts;
    if (!session?.up || session.steadyMs < graceMs) return undefined;
    const keys = workerIds.map((id) => this.#livenessKey(id));
    return readLost(await session.query(lostWorkers(workers), [[...workerIds], keys, graceMs]));
  }

  async stop(): Promise<void> {
    this.#alive = false;
    this.#stopWatching?.();
    await this.#stopListening?.().catch(() => undefined);
    this.#stopListening = undefined;
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    for (const key of this.#leading) await session.unlock(key);
    this.#leading.clear();
    if (this.#liveness !== undefined) await session.unlock(this.#liveness);
    await this.#parts.closeSession();
  }

  #livenessKey(workerId: WorkerId): string {
    return livenessKey(this.#parts.qualifiedTable, workerId);
  }

  #routineKey(routine: Routine): string {
    return routineKey(this.#parts.qualifiedTable, routine);
  }
}
