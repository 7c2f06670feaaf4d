import type { TarefaError } from '../errors.js';
import type { ResolvedTenantOptions } from '../options/tenant-options.js';
import { unavailable } from './tenant-error.js';
import type { TenantConnection, TenantPool } from './tenant-connection.js';
import { WaitingLine } from './waiting-line.js';

/** What is known of one tenant's connections. */
export interface TenantPoolStats {
  readonly tenant: string;
  /** Connections that are open now. */
  readonly connections: number;
  /** Of these, lent to attempts. */
  readonly inUse: number;
  /** Attempts that wait for one. */
  readonly waiting: number;
  /** Why its database could not be used last; undefined when it could. */
  readonly failure: string | undefined;
}

/** How many tenants have connections at once, and for how long. */
type TenantLimits = Pick<ResolvedTenantOptions, 'maxPools' | 'waitTimeoutMs' | 'idleMs'>;

interface Entry {
  readonly pool: TenantPool;
  /** Attempts that have, or want, a connection of it. */
  uses: number;
  idleTimer: NodeJS.Timeout | undefined;
}

/**
 * A pool for each tenant that has work, as many as are allowed: the one unused for longest makes room. Connections never
 * change their tenant.
 */
export class TenantPools {
  readonly #limits: TenantLimits;
  readonly #open: (tenant: string) => TenantPool;
  /** In the order of their last use, oldest first. */
  readonly #entries = new Map<string, Entry>();
  /** Tenants that wait for room, each once. */
  readonly #line = new WaitingLine();
  readonly #arriving = new Map<string, Promise<Entry>>();
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  /** @param open makes the pool of a tenant, which connects when a connection is asked for */
  constructor(limits: TenantLimits, open: (tenant: string) => TenantPool) {
    this.#limits = limits;
    this.#open = open;
  }

  /** @throws {TarefaError} `TENANT_UNAVAILABLE` */
  async take(tenant: string): Promise<TenantConnection> {
    const entry = await this.#enter(tenant);
    try {
      return await entry.pool.lease(() => this.#leave(entry));
    } catch (error) {
      this.#leave(entry);
      throw error;
    }
  }

  stats(): readonly TenantPoolStats[] {
    return [...this.#entries.values()].map(({ pool }) => {
      const { tenant, failure, counts } = pool;
      return { tenant, ...counts, failure };
    });
  }

  /** Closes a tenant's connections, as they come back, and forgets where its database is. */
  forget(tenant: string): void {
    const entry = this.#entries.get(tenant);
    if (!entry) return;
    if (entry.uses === 0) this.#remove(entry);
    else entry.pool.retire();
  }

  /** Closes everything at once, also what is lent. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#line.dismiss();
    for (const entry of [...this.#entries.values()]) this.#remove(entry);
    await Promise.all(this.#closing);
  }

  async #enter(tenant: string): Promise<Entry> {
    for (;;) {
      if (this.#closed) throw closing();
      const known = this.#entries.get(tenant);
      if (known) return this.#use(known);
      const other = this.#arriving.get(tenant);
      if (other) await other;
      else if (this.#line.length === 0 && this.#hasRoom()) return this.#use(this.#make(tenant));
      else return this.#arrive(tenant);
    }
  }

  /** Waits for room; attempts for the same tenant share this wait. */
  async #arrive(tenant: string): Promise<Entry> {
    const arriving = this.#waitForRoom().then(() => this.#use(this.#make(tenant)));
    this.#arriving.set(tenant, arriving);
    try {
      return await arriving;
    } finally {
      this.#arriving.delete(tenant);
    }
  }

  async #waitForRoom(): Promise<void> {
    const { waitTimeoutMs, maxPools } = this.#limits;
    const isTurn = await this.#line.wait(waitTimeoutMs);
    if (this.#closed) throw closing();
    if (isTurn) return;
    throw unavailable(
      `all ${maxPools} pools of tenants were in use for ${waitTimeoutMs} ms: raise tenantDatabases.maxPools`,
    );
  }

  #make(tenant: string): Entry {
    return { pool: this.#open(tenant), uses: 0, idleTimer: undefined };
  }

  #use(entry: Entry): Entry {
    clearTimeout(entry.idleTimer);
    entry.uses += 1;
    this.#entries.delete(entry.pool.tenant);
    this.#entries.set(entry.pool.tenant, entry);
    return entry;
  }

  #leave(entry: Entry): void {
    entry.uses -= 1;
    if (entry.uses > 0 || this.#entries.get(entry.pool.tenant) !== entry) return;
    if (this.#line.length > 0) {
      this.#remove(entry);
      this.#line.next();
      return;
    }
    entry.idleTimer = setTimeout(() => this.#remove(entry), this.#limits.idleMs);
  }

  #hasRoom(): boolean {
    if (this.#entries.size < this.#limits.maxPools) return true;
    const oldest = [...this.#entries.values()].find(({ uses }) => uses === 0);
    if (oldest) this.#remove(oldest);
    return oldest !== undefined;
  }

  #remove(entry: Entry): void {
    clearTimeout(entry.idleTimer);
    this.#entries.delete(entry.pool.tenant);
    const closed = entry.pool.close();
    this.#closing.add(closed);
    void closed.finally(() => this.#closing.delete(closed));
  }
}

function closing(): TarefaError {
  return unavailable('the application is closing');
}
