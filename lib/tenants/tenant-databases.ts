import { TarefaError } from '../errors.js';
import { purgePage, type DoneStatements } from './done-table.js';
import { TenantHandle, type DoneTask } from './tenant-handle.js';
import type { TenantPools, TenantPoolStats } from './tenant-pools.js';
import type { TenantSource } from './tenant-use.js';

/** What {@link TenantDatabases} work with. */
export interface TenantDatabasesParts {
  /** Or why there are none. */
  readonly pools: TenantPools | (() => TarefaError);
  readonly statements: DoneStatements;
}

/** Work on behalf of nobody's task. */
const noTask: DoneTask = { key: '', dead: false };
/** Several processes may make the table at once: those that come second find it, or its name, taken. */
const made = new Set(['42P07', '23505']);

/**
 * The databases of tenants, for whoever runs the application. Handlers get theirs by `ctx.tenantDb()`.
 *
 * @example
 * constructor(private readonly tenants: TenantDatabases) {}
 * await this.tenants.createDedupTable('42');
 */
export class TenantDatabases {
  readonly #parts: TenantDatabasesParts;

  /** @hidden */
  constructor(parts: TenantDatabasesParts) {
    this.#parts = parts;
  }

  /** One entry for each tenant with connections, the one unused for longest first; failures included. */
  stats(): readonly TenantPoolStats[] {
    return this.#some?.stats() ?? [];
  }

  /**
   * Forgets a tenant's credentials: what comes next asks for them anew. Connections in use stay until they are given
   * back.
   */
  forget(tenant: string): void {
    this.#some?.forget(tenant);
  }

  /**
   * Makes the table of `once()` in a tenant's database, unless it is there.
   *
   * @throws {TarefaError} `TENANT_UNAVAILABLE`
   */
  async createDedupTable(tenant: string): Promise<void> {
    await this.#with(tenant, (db) =>
      db.query(this.#parts.statements.create).catch((error: unknown) => {
        if (!made.has(String((error as { code?: unknown }).code))) throw error;
      }),
    );
  }

  /**
   * Forgets what `once()` has done in a tenant's database before that. Tasks that may still be tried must be younger:
   * a hundred attempts at five minutes take 18 days.
   *
   * @returns how many were forgotten
   * @throws {TarefaError} `TENANT_UNAVAILABLE`, `INPUT_INVALID`
   */
  async purgeDone(tenant: string, { olderThanDays }: { readonly olderThanDays: number }): Promise<number> {
    if (!(olderThanDays >= 0)) {
      throw new TarefaError('INPUT_INVALID', `olderThanDays must be a number of days, not ${olderThanDays}`);
    }
    return this.#with(tenant, async (db) => {
      for (let purged = 0; ;) {
        const values = [olderThanDays * 86_400, purgePage];
        const { rowCount } = await db.query(this.#parts.statements.purge, values);
        purged += rowCount ?? 0;
        if ((rowCount ?? 0) < purgePage) return purged;
      }
    });
  }

  /** @internal */
  async open({ key, dead, tenant }: Parameters<TenantSource['open']>[0]): Promise<TenantHandle> {
    const pools = this.#pools();
    if (tenant === null) {
      throw new TarefaError(
        'TENANT_UNAVAILABLE',
        'ctx.tenantDb() was called for a task without a tenant: insert it with its tenant',
      );
    }
    return new TenantHandle(await pools.take(tenant), { key, dead }, this.#parts.statements);
  }

  /** @internal Closes every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#some?.close();
  }

  async #with<T>(tenant: string, work: (db: TenantHandle) => Promise<T>): Promise<T> {
    const db = new TenantHandle(await this.#pools().take(tenant), noTask, this.#parts.statements);
    try {
      return await work(db);
    } finally {
      db.quit();
    }
  }

  get #some(): TenantPools | undefined {
    const { pools } = this.#parts;
    return typeof pools === 'function' ? undefined : pools;
  }

  #pools(): TenantPools {
    const { pools } = this.#parts;
    if (typeof pools === 'function') throw pools();
    return pools;
  }
}
