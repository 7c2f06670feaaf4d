import type { RingBeside } from '../../coordination/bell.js';
import { livenessPrefix, routineKey } from '../../coordination/lock-names.js';
import { readBoolean, readText } from '../columns.js';
import type { WorkerId } from '../attempt.js';
import type {
  DetachedWorkerRow,
  LookForMissing,
  MissingWorkers,
  WorkerDescription,
  WorkerRegistry,
} from '../workers.js';
import { takeFreeId } from '../free-worker-id.js';
import type { QueueAccess } from './queue-access.js';
import { haltWorkers, renewLease } from './statements/workers.js';

/** Servers before version 17 have no limit for a whole transaction. */
const unlimited = `select set_config('transaction_timeout', '0', true) where current_setting('server_version_num')::int >= 170000`;

/** What workers are told to stop by. */
export interface HaltBell {
  readonly channel: string;
  readonly haltText: string;
  /** Undefined where the database alone rings. */
  readonly beside?: RingBeside | undefined;
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
    const { registerWorker, registerBehind } = this.#access.sql;
    return takeFreeId({
      take: async () => {
        const values = valuesOf(worker);
        const { rows } = await this.#access.onPool(registerWorker, values);
        const [row] = rows.length > 0 ? rows : (await this.#access.onPool(registerBehind, values)).rows;
        return row && { id: String(row['id']), isHolding: readBoolean(row['holding']) };
      },
      leave: (id) => this.withdraw(id),
    });
  }

  async withdraw(workerId: WorkerId): Promise<void> {
    await this.#access.onPool(this.#access.sql.withdrawWorker, [workerId]);
  }

  async restore(workerId: WorkerId, worker: WorkerDescription): Promise<void> {
    await this.#access.onPool(this.#access.sql.restoreWorker, [...valuesOf(worker), workerId]);
    await this.#access.onPool(this.#access.sql.restoreSeal, []).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code !== '42501') throw error;
    });
  }

  async retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void> {
    await this.#access.ask(this.#access.sql.retireWorker, [workerId, why === 'lost']);
  }

  async haltAll(): Promise<readonly WorkerId[]> {
    const { inserts, schema } = this.#access;
    const { channel, haltText, beside } = this.#bell;
    const [row] = (await inserts.query(haltWorkers(schema.tables), [channel, haltText])).rows;
    const told = (row?.['told'] as readonly string[] | undefined) ?? [];
    if (told.length > 0) beside?.({ halt: true });
    return told;
  }

  async isHalted(workerId: WorkerId): Promise<boolean | undefined> {
    const [row] = await this.#access.ask(this.#access.sql.isHalted, [workerId]);
    return row && readBoolean(row['halted']);
  }

  async detachedOn(host: string): Promise<readonly DetachedWorkerRow[]> {
    const rows = await this.#access.ask(this.#access.sql.detachedOn, [host]);
    return rows.map((row) => ({
      route: String(row['route']),
      parentPid: row['parent_pid'] == null ? undefined : Number(row['parent_pid']),
    }));
  }

  async unregisteredHolders(): Promise<readonly (WorkerId | undefined)[]> {
    const rows = await this.#access.ask(this.#access.sql.unregisteredHolders, []);
    return rows.map((row) => readText(row['id']) ?? undefined);
  }

  async revive(workerId: WorkerId): Promise<void> {
    await this.#access.ask(this.#access.sql.reviveWorker, [workerId]);
  }

  async renewLease(workerId: WorkerId, forMs: number): Promise<void> {
    const { schema } = this.#access;
    await this.#access.ask({ name: 'tarefa_renew_lease', text: renewLease(schema.tables) }, [
      workerId,
      forMs,
    ]);
  }

  runAlone<T>(routine: string, work: () => Promise<T>): Promise<T | undefined> {
    const key = routineKey(this.#access.schema.tables.qualifiedName, routine);
    return this.#access.inTransaction(async (tx) => {
      // It says nothing while the work goes on, which a limit of the role's would end.
      await tx.query('set local idle_in_transaction_session_timeout = 0');
      await tx.query(unlimited);
      const { rows } = await tx.query(
        'select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as locked',
        [key],
      );
      return rows[0]?.['locked'] === true ? work() : undefined;
    });
  }

  async findMissing(look: LookForMissing): Promise<MissingWorkers | undefined> {
    const { looker, others, graceMs, ring } = look;
    const prefix = livenessPrefix(this.#access.schema.tables.qualifiedName);
    const [row] = await this.#access.ask(this.#access.sql.findMissing, [
      others,
      prefix,
      graceMs,
      looker,
      ring?.channel ?? null,
      ring?.text ?? null,
    ]);
    if (!row || readBoolean(row['early'])) return undefined;
    return {
      missing: row['missing']?.split(',').filter(Boolean) ?? [],
      noted: readBoolean(row['noted']),
      hasOthers: readBoolean(row['others']),
      atMs: Number(row['at_ms']),
      notifyUsage: Number(row['notify_usage']),
    };
  }

  async confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]> {
    const rows = await this.#access.ask(this.#access.sql.confirmLost, [missing, missingForMs]);
    return rows.map((row) => String(row['id']));
  }

  async forget(olderThanDays: number): Promise<void> {
    await this.#access.onPool(this.#access.sql.forgetWorkers, [olderThanDays]);
  }
}

/** In the order of the statements' parameters. */
function valuesOf(worker: WorkerDescription): unknown[] {
  const { host, pid, version, concurrency, routes, deadRoutes, schedules = [], detached } = worker;
  const { parent = null, output = null } = detached ?? {};
  return [host, pid, version, concurrency, [...routes], [...deadRoutes], [...schedules], parent, output];
}
