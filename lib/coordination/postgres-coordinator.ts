import type { WorkerId } from '../storage/attempt.js';
import { looksChannel, waitsChannel } from './channels.js';
import type { Coordinator, CoordinatorListeners, MissingWorkers, Routine } from './coordinator.js';
import {
  livenessPrefix,
  lostWorkers,
  readLost,
  reviveWorker,
  routineKey,
  type AskTables,
} from './lost-workers.js';
import type { PostgresSession } from '../storage/postgres/connections/postgres-session.js';
import { readRing, type Ringer, type RingRequest } from './ringer.js';

export interface PostgresCoordinatorParts {
  /** Opens the process's session, or shares the one that is open. */
  readonly open: () => Promise<PostgresSession>;
  /** Closes it, unless another queue of the process still uses it. */
  readonly close: () => Promise<void>;
  /** Not by the session, which may have no right to the tables. */
  readonly ask: AskTables;
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
  /** Told when somebody waits for the end of a task. */
  readonly asked: (text: string) => void;
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
  #workerId: WorkerId = '';
  #liveness: string | undefined;
  #alive = false;
  #stopListening: (() => Promise<void>)[] = [];
  #stopWatching: (() => void) | undefined;

  constructor(parts: PostgresCoordinatorParts) {
    this.#parts = parts;
  }

  get alive(): boolean {
    return this.#alive && this.#session?.up === true;
  }

  async start(workerId: WorkerId, listeners: CoordinatorListeners): Promise<void> {
    const session = await this.#parts.open();
    this.#session = session;
    this.#workerId = workerId;
    const { channel, qualifiedTable, asked, ask, workers } = this.#parts;
    const key = livenessPrefix(qualifiedTable) + workerId;
    await session.hold(key);
    this.#liveness = key;
    // Who looked between the registration and the lock has noted it as missing; before the first claim that must go.
    await ask(reviveWorker(workers), [workerId]);
    this.#alive = true;
    this.#stopWatching = session.watch({
      lost: (error) => listeners.lost(error),
      restored: () => {
        // Should it fail, the worker's death is noticed all the same, a minute later.
        void ask(reviveWorker(workers), [workerId]).catch(() => undefined);
        listeners.restored();
      },
    });
    if (channel !== undefined) {
      this.#stopListening.push(await session.listen(channel, (text) => listeners.ring(readRing(text))));
    }
    this.#stopListening.push(await session.listen(waitsChannel(qualifiedTable), (text) => asked(text)));
    const heard = (looker: string): void => {
      if (looker !== workerId) listeners.looked(Number(looker) < Number(workerId));
    };
    this.#stopListening.push(await session.listen(looksChannel(qualifiedTable), heard));
  }

  ring(ring: RingRequest = {}): void {
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

  async findLost(others: readonly WorkerId[]): Promise<MissingWorkers | undefined> {
    const session = this.#session;
    const { graceMs, ask, workers, qualifiedTable } = this.#parts;
    if (!session?.up || session.steadyMs < graceMs) return undefined;
    const channel = looksChannel(qualifiedTable);
    const values = [others, livenessPrefix(qualifiedTable), graceMs, channel, this.#workerId];
    return readLost(await ask(lostWorkers(workers), values));
  }

  async stop(): Promise<void> {
    this.#alive = false;
    this.#stopWatching?.();
    for (const stop of this.#stopListening.splice(0)) await stop().catch(() => undefined);
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    if (this.#liveness !== undefined) await session.unlock(this.#liveness);
    await this.#parts.close();
  }

  #routineKey(routine: Routine): string {
    return routineKey(this.#parts.qualifiedTable, routine);
  }
}
