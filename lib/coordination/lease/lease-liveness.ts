import type { WorkerId } from '../../storage/attempt.js';
import type { CarriedRing } from '../bell.js';
import { longestLeaseMs, leaseMs, type MissingWorkers, type WorkerRegistry } from '../../storage/workers.js';
import type { LeaseThread, ProcessGuard } from '../lease-protocol.js';
import type { Liveness, LivenessWatcher, Routine } from '../liveness.js';
import { Lease } from './lease.js';
import { refuseUnsendable } from './sendable-config.js';

/** A lease is renewed so often while it lasts. */
const renewals = 4;

/**
 * {@link Liveness} where no session is ours, as behind a transaction pooler: a lease in the workers' table instead of a
 * lock, and locks of transactions instead of those of a session.
 */
export class LeaseLiveness implements Liveness {
  readonly connection = 'lease';
  /** Renews the lease, whatever the event loop does. */
  readonly #thread: LeaseThread;
  readonly #workers: Pick<WorkerRegistry, 'renewLease' | 'findMissing' | 'runAlone'>;
  /** No worker is called lost this soon after the server's start, or after a loss of this worker's own. */
  readonly #graceMs: number;
  /** Of a detached worker, the lease of which lasts longer. Default: it is an ordinary one. */
  readonly #guard: ProcessGuard | undefined;
  #workerId: WorkerId = '';
  #restoredAt = -Infinity;
  #lease: Lease | undefined;

  /** @throws {TarefaError} `OPTIONS_INVALID` when the thread cannot be given the configuration of its connection */
  constructor(
    thread: LeaseThread,
    workers: Pick<WorkerRegistry, 'renewLease' | 'findMissing' | 'runAlone'>,
    graceMs: number,
    guard?: ProcessGuard,
  ) {
    refuseUnsendable(thread.database.config);
    this.#thread = thread;
    this.#workers = workers;
    this.#graceMs = graceMs;
    this.#guard = guard;
  }

  get alive(): boolean {
    return this.#lease?.valid === true;
  }

  get failure(): unknown {
    return this.alive ? undefined : this.#lease?.failure;
  }

  async hold(workerId: WorkerId, watcher: LivenessWatcher): Promise<boolean> {
    const forMs = this.#guard ? longestLeaseMs : leaseMs;
    // Handlers may block the event loop from now on: the thread must be able to connect without it.
    const password = await this.#thread.password?.();
    const sentAt = process.hrtime.bigint();
    await this.#workers.renewLease(workerId, forMs);
    this.#workerId = workerId;
    const lost = (error: unknown): void => watcher.lost(error);
    const restored = (): void => {
      this.#restoredAt = performance.now();
      watcher.restored();
    };
    const renewMs = forMs / renewals;
    this.#lease = new Lease({
      thread: this.#thread,
      password,
      workerId,
      renewMs,
      leaseMs: forMs,
      guard: this.#guard,
      lost,
      restored,
    });
    this.#lease.start(sentAt);
    return true;
  }

  exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined> {
    return this.#workers.runAlone(routine, work);
  }

  async findMissing(others: readonly WorkerId[], ring?: CarriedRing): Promise<MissingWorkers | undefined> {
    if (!this.alive || performance.now() - this.#restoredAt < this.#graceMs) return undefined;
    const found = await this.#workers.findMissing({
      looker: this.#workerId,
      others,
      graceMs: this.#graceMs,
      ring,
    });
    // Whoever does not see its own lease, as after a failover, does not see those of the others.
    return found?.missing.includes(this.#workerId) ? undefined : found;
  }

  async release(): Promise<void> {
    await this.#lease?.stop();
    this.#lease = undefined;
  }
}
