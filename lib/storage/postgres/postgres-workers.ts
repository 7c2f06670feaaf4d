import { readBoolean } from '../columns.js';
import type { WorkerId } from '../attempt.js';
import type { WorkerDescription, WorkerRegistry } from '../workers.js';
import type { QueueAccess } from './queue-access.js';
import { haltWorkers } from './statements/workers.js';

/** What workers are told to stop by. */
export interface HaltBell {
  readonly channel: string;
  readonly haltText: string;
}

/** {@link WorkerRegistry} in `<table>_worker`. */
export class PostgresWorkers implements WorkerRegistry {
  readonly #access: QueueAccess;
  readonly #bell: HaltBell;

  constructor(access: QueueAccess, bell: HaltBell) {
    this.#access = access;
    this.#bell = bell;
  }

  async register(worker: WorkerDescription): Promise<WorkerId> {
    const { host, pid, version, concurrency, routes, deadRoutes } = worker;
    const values = [host, pid, version, concurrency, [...routes], [...deadRoutes]];
    const { rows } = await this.#access.onPool(this.#access.sql.registerWorker, values);
    return String(rows[0]?.['id']);
  }

  async retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void> {
    await this.#access.ask(this.#access.sql.retireWorker, [workerId, why === 'lost']);
  }

  async haltAll(): Promise<readonly WorkerId[]> {
    const { inserts, schema } = this.#access;
    const { channel, haltText } = this.#bell;
    const [row] = (await inserts.query(haltWorkers(schema.tables), [channel, haltText])).rows;
    return (row?.['told'] as readonly string[] | undefined) ?? [];
  }

  async isHalted(workerId: WorkerId): Promise<boolean> {
    const [row] = await this.#access.ask(this.#access.sql.isHalted, [workerId]);
    return readBoolean(row?.['halted']);
  }

  async unregisteredHolders(): Promise<readonly WorkerId[]> {
    const rows = await this.#access.ask(this.#access.sql.unregisteredHolders, []);
    return rows.map((row) => String(row['id']));
  }

  async confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]> {
    const rows = await this.#access.ask(this.#access.sql.confirmLost, [missing, missingForMs]);
    return rows.map((row) => String(row['id']));
  }

  async forget(olderThanDays: number): Promise<void> {
    await this.#access.onPool(this.#access.sql.forgetWorkers, [olderThanDays]);
  }
}
