import type { ClientConfig } from 'pg';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { WorkerId } from '../storage/attempt.js';
import type { Coordinator, CoordinatorListeners, MissingWorkers, Routine } from './coordinator.js';
import { Lease } from './lease.js';
import { renewLease } from './lease-protocol.js';
import { livenessPrefix, lostWorkers, readLost, routineKey, type AskTables } from './lost-workers.js';
import type { Ringer, RingRequest } from './ringer.js';

export interface LeaseCoordinatorParts {
  /** Where the lease is renewed, by a thread. */
  readonly config: ClientConfig;
  readonly ask: AskTables;
  /** Runs work inside one transaction, which stays open as long as the work takes. */
  readonly transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  readonly ringer: Ringer;
  /** Schema-qualified name of the queue's table, and quoted name of its workers' table. */
  readonly qualifiedTable: string;
  readonly workers: string;
  /** No worker is called lost so soon after the server's start, or after a loss of this worker's own. */
  readonly graceMs: number;
}

/** A lease is held for so many ms, and renewed so often. */
export const leaseMs = 10_000;
const renewMs = 2_500;

/**
 * {@link Coordinator} where no session is ours, as behind a transaction pooler: a lease in the workers' table
 * instead of a lock, locks of transactions instead of those of a session, and no wake-ups but rings for others.
 */
export class LeaseCoordinator implements Coordinator {
  readonly connection = 'lease';
  readonly #parts: LeaseCoordinatorParts;
  #workerId: WorkerId = '';
  #restoredAt = -Infinity;
  #lease: Lease | undefined;

  constructor(parts: LeaseCoordinatorParts) {
    this.#parts = parts;
  }

  get alive(): boolean {
    return this.#lease?.valid === true;
  }

  async start(workerId: WorkerId, listeners: CoordinatorListeners): Promise<void> {
    const { ask, config, workers } = this.#parts;
    const sentAt = process.hrtime.bigint();
    await ask({ name: 'tarefa_renew_lease', text: renewLease(workers) }, [workerId, leaseMs]);
    this.#workerId = workerId;
    const lost = (error: unknown): void => listeners.lost(error);
    const restored = (): void => {
      this.#restoredAt = performance.now();
      listeners.restored();
    };
    this.#lease = new Lease({ config, workers, workerId, renewMs, leaseMs, lost, restored });
    this.#lease.start(sentAt);
  }

  ring(ring: RingRequest = {}): void {
    this.#parts.ringer.ring(ring);
  }

  exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined> {
    const key = routineKey(this.#parts.qualifiedTable, routine);
    return this.#parts.transaction(async (tx) => {
      const { rows } = await tx.query(
        'select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as locked',
        [key],
      );
      return rows[0]?.['locked'] === true ? work() : undefined;
    });
  }

  /** Without a session nobody hears who has looked, so all look: one statement, as asking whose turn it is would be. */
  async findLost(others: readonly WorkerId[]): Promise<MissingWorkers | undefined> {
    const { graceMs, ask, workers, qualifiedTable } = this.#parts;
    if (!this.alive || performance.now() - this.#restoredAt < graceMs) return undefined;
    const values = [others, livenessPrefix(qualifiedTable), graceMs, null, this.#workerId];
    return readLost(await ask(lostWorkers(workers), values));
  }

  async stop(): Promise<void> {
    await this.#lease?.stop();
    this.#lease = undefined;
  }
}
