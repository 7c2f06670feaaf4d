import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { livenessPrefix, routineKey } from '../../coordination/lock-names.js';
import type { WorkerId } from '../attempt.js';
import { readBoolean } from '../columns.js';
import type {
  DetachedWorkerRow,
  LookForMissing,
  MissingWorkers,
  WorkerDescription,
  WorkerRegistry,
} from '../workers.js';
import { takeFreeId } from '../free-worker-id.js';
import { lockName, lockPrefix } from './lock-name.js';
import type { ServerAccess } from './other-ways.js';
import { isRefusal } from './schema/refusals.js';
import { sealKeys } from './schema/schema-objects.js';
import { insertSealSql } from './schema/schema-statements.js';
import {
  detachedOn,
  findMissing,
  forgetWorkers,
  haltWorkers,
  holdsAttempts,
  isHalted,
  lockRunning,
  missingLongEnough,
  noteMissing,
  readNotices,
  registerWorker,
  renewLease,
  restoreWorker,
  retireWorker,
  reviveWorker,
  unregisteredHolders,
  withdrawWorker,
} from './statements/workers.js';

/** Rings once workers were told to stop: no statement can ring when it is committed. */
export interface HaltBell {
  halted(): Promise<void>;
}

/** {@link WorkerRegistry} in `<table>_worker`. */
export class MysqlWorkers implements WorkerRegistry {
  readonly #access: ServerAccess;
  readonly #bell: HaltBell;

  constructor(access: ServerAccess, bell: HaltBell) {
    this.#access = access;
    this.#bell = bell;
  }

  async register(worker: WorkerDescription): Promise<WorkerId> {
    const { own, tables } = this.#access;
    return takeFreeId({
      take: async () => {
        const { insertId: id } = await own.query(registerWorker(tables), valuesOf(worker));
        const { rows } = await own.query(holdsAttempts(tables), [id]);
        return { id, isHolding: readBoolean(rows[0]?.['holding']) };
      },
      leave: (id) => this.withdraw(id),
    });
  }

  async withdraw(workerId: WorkerId): Promise<void> {
    await this.#access.own.query(withdrawWorker(this.#access.tables), [workerId]);
  }

  async restore(workerId: WorkerId, worker: WorkerDescription): Promise<void> {
    const { own, tables } = this.#access;
    await own.query(restoreWorker(tables), [...valuesOf(worker), workerId]);
    const keys = sealKeys(await promisify(randomBytes)(64));
    await own.query(insertSealSql(tables), [...keys]).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
    });
  }

  /** Two statements: one would lock what it reads of the queue. Who is written down as stopped claims nothing in between. */
  async retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void> {
    const { tables } = this.#access;
    const [row] = await this.#access.ask(holdsAttempts(tables), [workerId]);
    if (readBoolean(row?.['holding'])) return;
    await this.#access.change(retireWorker(tables), [workerId, why === 'lost']);
  }

  async haltAll(): Promise<readonly WorkerId[]> {
    const { tables, own } = this.#access;
    const told = await own.transaction(async (run) => {
      const [running] = await run(lockRunning(tables));
      await run(haltWorkers(tables));
      return running?.rows.map(idOf) ?? [];
    });
    if (told.length > 0) await this.#bell.halted();
    return told;
  }

  async isHalted(workerId: WorkerId): Promise<boolean | undefined> {
    const [row] = await this.#access.ask(isHalted(this.#access.tables), [workerId]);
    return row && readBoolean(row['halted']);
  }

  async detachedOn(host: string): Promise<readonly DetachedWorkerRow[]> {
    const rows = await this.#access.ask(detachedOn(this.#access.tables), [host]);
    return rows.map((row) => ({
      route: String(row['route']),
      parentPid: row['parent_pid'] == null ? undefined : Number(row['parent_pid']),
    }));
  }

  async unregisteredHolders(): Promise<readonly (WorkerId | undefined)[]> {
    const rows = await this.#access.ask(unregisteredHolders(this.#access.tables));
    return rows.map(idOf).map((id) => (id === '0' ? undefined : id));
  }

  async revive(workerId: WorkerId): Promise<void> {
    await this.#access.change(reviveWorker(this.#access.tables), [workerId]);
  }

  async renewLease(workerId: WorkerId, forMs: number): Promise<void> {
    await this.#access.change(renewLease(this.#access.tables), [forMs, workerId]);
  }

  /** The transaction keeps one connection of the server for the lock, whatever stands in between. */
  runAlone<T>(routine: string, work: () => Promise<T>): Promise<T | undefined> {
    const name = lockName(routineKey(this.#access.tables.qualifiedName, routine));
    const { runAlone } = this.#access.ways;
    if (runAlone) return runAlone(this.#access, name, work);
    return this.#access.own.use(async (run) => {
      const [, lock] = await run('start transaction; select get_lock(?, 0) as locked', [name]);
      try {
        return readBoolean(lock?.rows[0]?.['locked']) ? await work() : undefined;
      } finally {
        // A connection that is gone has given it up.
        await run('do release_lock(?); commit', [name]).catch(() => undefined);
      }
    });
  }

  async findMissing({ looker, others, graceMs }: LookForMissing): Promise<MissingWorkers | undefined> {
    const { tables } = this.#access;
    const prefix = lockPrefix(livenessPrefix(tables.qualifiedName));
    const [upTime, , missing, counts] = await this.#access
      .controlled()
      .several(findMissing(tables), [jsonOf(others), prefix, looker]);
    if (isEarly(Number(upTime?.rows[0]?.['Value']), graceMs)) return undefined;
    return {
      missing: missing?.rows.map(idOf) ?? [],
      noted: readBoolean(counts?.rows[0]?.['noted']),
      hasOthers: readBoolean(counts?.rows[0]?.['others']),
      atMs: Number(counts?.rows[0]?.['at_ms']),
      notifyUsage: undefined,
    };
  }

  async confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]> {
    const { tables } = this.#access;
    const list = jsonOf(missing);
    const text = `start transaction; ${missingLongEnough(tables)}; ${noteMissing(tables)}; commit`;
    const [, lost] = await this.#access.transaction((run) => run(text, [list, missingForMs, list]));
    return lost?.rows.map(idOf) ?? [];
  }

  /** What changes when workers are told to stop, routes paused or resumed, running tasks cancelled, and tasks scheduled. */
  async notices(): Promise<Readonly<Record<'halted' | 'changed' | 'due', string | null>>> {
    const { rows } = await this.#access.own.query(readNotices(this.#access.tables));
    const { halted = null, changed = null, due = null } = rows[0] ?? {};
    return { halted, changed, due };
  }

  async forget(olderThanDays: number): Promise<void> {
    await this.#access.own.query(forgetWorkers(this.#access.tables), [olderThanDays]);
  }
}

/** In the order of the statements' parameters. */
function valuesOf(worker: WorkerDescription): unknown[] {
  const { host, pid, version, concurrency, routes, deadRoutes, schedules = [], detached } = worker;
  const { parent = null, output = null } = detached ?? {};
  const lists = [routes, deadRoutes, schedules].map((list) => JSON.stringify(list));
  return [host, pid, version, concurrency, ...lists, parent, output];
}

function idOf(row: Readonly<Record<string, string | null>>): WorkerId {
  return String(row['id']);
}

/** Ids as numbers of JSON, which lose nothing as text. */
function jsonOf(ids: readonly WorkerId[]): string {
  return `[${ids.map((id) => BigInt(id)).join(',')}]`;
}

/**
 * Start and time of day are cut to whole seconds, so that a server that has run for a moment may tell a second. Without a grace it
 * is never early. Less than none is told by a server whose clock was set back since its start.
 */
function isEarly(upSeconds: number, graceMs: number): boolean {
  return graceMs > 0 && upSeconds >= 0 && (upSeconds - 1) * 1_000 < graceMs;
}
