import { TarefaError } from '../errors.js';
import type { WorkerId } from '../storage/attempt.js';
import type { CarriedRing } from './bell.js';
import type { MissingWorkers, WorkerRegistry } from '../storage/workers.js';
import { livenessPrefix, routineKey } from './lock-names.js';
import type { Liveness, LivenessWatcher, Routine } from './liveness.js';
import type { Session, SessionUse } from './session.js';

/**
 * {@link Liveness} by a lock of a session with the database: no timer renews it, so a blocked event loop loses nothing,
 * and the server frees it the moment the connection of a killed process closes.
 */
export class SessionLiveness implements Liveness {
  readonly connection = 'session';
  readonly #use: SessionUse;
  /** Not asked by the session, which may have no right to the tables. */
  readonly #workers: Pick<WorkerRegistry, 'revive' | 'findMissing'>;
  /** Schema-qualified table: part of every lock's key, so that queues never meet. */
  readonly #qualifiedTable: string;
  /**
   * No worker is called lost this soon after the server's start, or after this session came back: others may still be
   * reconnecting.
   */
  readonly #graceMs: number;
  #session: Session | undefined;
  #workerId: WorkerId = '';
  #alive = false;
  #stopWatching: (() => void) | undefined;

  constructor(
    use: SessionUse,
    workers: Pick<WorkerRegistry, 'revive' | 'findMissing'>,
    qualifiedTable: string,
    graceMs: number,
  ) {
    this.#use = use;
    this.#workers = workers;
    this.#qualifiedTable = qualifiedTable;
    this.#graceMs = graceMs;
  }

  /** Asked of the session each time: one of MySQL is not up any more once the process has stood still for too long. */
  get alive(): boolean {
    return this.#alive && this.#session?.up === true;
  }

  get failure(): unknown {
    return this.#session?.failure;
  }

  async hold(workerId: WorkerId, watcher: LivenessWatcher): Promise<boolean> {
    const session = await this.#use.open();
    this.#session = session;
    this.#workerId = workerId;
    if (!(await session.hold(this.#key))) {
      this.#session = undefined;
      await this.#use.close();
      return false;
    }
    // A look between the registration and the lock has noted it as missing; before the first claim that must go.
    await this.#workers.revive(workerId);
    await this.#refuseElsewhere();
    this.#alive = true;
    this.#stopWatching = session.watch({
      lost: (error) => watcher.lost(error),
      restored: () => {
        // Should it fail, the worker's death is noticed anyway, a minute later.
        void this.#workers.revive(workerId).catch(() => undefined);
        watcher.restored();
      },
    });
    return true;
  }

  async exclusively<T>(routine: Routine, work: () => Promise<T>): Promise<T | undefined> {
    const key = routineKey(this.#qualifiedTable, routine);
    const session = this.#session;
    if (!session?.up || !(await session.tryLock(key))) return undefined;
    try {
      return await work();
    } finally {
      await session.unlock(key);
    }
  }

  async findMissing(others: readonly WorkerId[], ring?: CarriedRing): Promise<MissingWorkers | undefined> {
    const session = this.#session;
    if (!session?.up || session.steadyMs < this.#graceMs) return undefined;
    const found = await this.#workers.findMissing({
      looker: this.#workerId,
      others,
      graceMs: this.#graceMs,
      ring,
    });
    if (!found?.missing.includes(this.#workerId)) return found;
    // Such as after a failover that has cut no connection. Whoever sees no lock of its own sees none of the others.
    session.leave(
      new Error("this worker's lock is not held on the server that has its tasks: the server was replaced"),
    );
    return undefined;
  }

  async release(): Promise<void> {
    this.#alive = false;
    this.#stopWatching?.();
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    await session.unlock(this.#key);
    await this.#use.close();
  }

  /** Its lock would be seen by nobody, and its tasks taken for those of a lost worker. */
  async #refuseElsewhere(): Promise<void> {
    const look = { looker: this.#workerId, others: [], graceMs: 0 };
    const found = await this.#workers.findMissing(look);
    if (!found?.missing.includes(this.#workerId)) return;
    throw new TarefaError(
      'OPTIONS_INVALID',
      'the session of this worker and the connection that claims lead to different databases: the lock that it holds through one ' +
        'is not visible through the other. Give sessionConnection and connection the same server and database; if servers are swapping ' +
        'roles, start again when they have finished',
    );
  }

  get #key(): string {
    return livenessPrefix(this.#qualifiedTable) + this.#workerId;
  }
}
