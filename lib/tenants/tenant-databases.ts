import { TarefaError } from '../errors.js';
import type { TenantConnection } from './tenant-connection.js';
import { TenantHandle } from './tenant-handle.js';
import type { TenantPools, TenantPoolStats } from './tenant-pools.js';
import type { TenantSource } from './tenant-use.js';

/** Marks deleted by one statement. */
const purgePage = 10_000;

/**
 * The databases of tenants, for operators of the application. Handlers get theirs by `ctx.tenantDb()`.
 *
 * @example
 * constructor(private readonly tenants: TenantDatabases) {}
 * await this.tenants.createDedupTable('42');
 */
export class TenantDatabases {
  readonly #pools: TenantPools | (() => TarefaError);

  /**
   * @hidden
   * @param pools or why there are none
   */
  constructor(pools: TenantPools | (() => TarefaError)) {
    this.#pools = pools;
  }

  /** One entry for each tenant with connections, the one unused for longest first; failures included. */
  stats(): readonly TenantPoolStats[] {
    return this.#some?.stats() ?? [];
  }

  /**
   * Forgets a tenant's credentials: what comes next asks for them again. Connections in use stay until they are given
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
    await this.#with(tenant, (connection) => connection.createDoneTable());
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
    return this.#with(tenant, async (connection) => {
      for (let purged = 0; ;) {
        const count = await connection.purgeDone(olderThanDays * 86_400, purgePage);
        purged += count;
        if (count < purgePage) return purged;
      }
    });
  }

  /** @internal */
  async open({ key, dead, tenant }: Parameters<TenantSource['open']>[0]): Promise<TenantHandle> {
    const pools = this.#mustHave();
    if (tenant === null) {
      throw new TarefaError(
        'TENANT_UNAVAILABLE',
        'ctx.tenantDb() was called for a task without a tenant: insert it with its tenant',
      );
    }
    return new TenantHandle(await pools.take(tenant), { key, dead });
  }

  /** @internal Closes every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#some?.close();
  }

  async #with<T>(tenant: string, work: (connection: TenantConnection) => Promise<T>): Promise<T> {
    const connection = await this.#mustHave().take(tenant);
    try {
      return await work(connection);
    } finally {
      void connection.giveBack();
    }
  }

  get #some(): TenantPools | undefined {
    return typeof this.#pools === 'function' ? undefined : this.#pools;
  }

  #mustHave(): TenantPools {
    if (typeof this.#pools === 'function') throw this.#pools();
    return this.#pools;
  }
}
