import { Pool, type ClientConfig, type PoolClient } from 'pg';
import type { TarefaError } from '../../../errors.js';
import { connectionConfig, connectionKey } from '../connections/connection-config.js';
import type { PostgresConnection } from '../../../options/postgres-connection.js';
import { goodbyeMs, Sockets } from '../connections/sockets.js';
import { deadlineIn } from '../../../timing/deadline.js';
import { isSteering, messageOf, TenantRefusal, unavailable } from '../../../tenants/tenant-error.js';
import type { TenantPool } from '../../../tenants/tenant-connection.js';
import { WaitingLine } from '../../../tenants/waiting-line.js';
import type { DoneStatements } from './done-table.js';
import { isRefusedLogin } from './login-error.js';
import { PostgresTenantConnection } from './postgres-tenant-connection.js';
import type { ResolvedTenantOptions, TenantResolver } from '../../../options/tenant-options.js';

export interface PostgresTenantPoolParts {
  readonly options: ResolvedTenantOptions;
  readonly resolve: TenantResolver;
  readonly applicationName: string;
  /** On the table of `once()`. */
  readonly statements: DoneStatements;
  /** Its database, or what leads there, cannot be used; once until it works again. */
  readonly failed: (tenant: string, message: string) => void;
  readonly restored: (tenant: string) => void;
}

/** Connections made with one set of credentials. */
interface Opened {
  readonly pool: Pool;
  readonly sockets: Sockets;
  /** By the monotonic clock. */
  readonly since: number;
}

/** Failures that took longer are not to be waited for by every task of the tenant. */
const slowMs = 1_000;

/** Parameters: process id of the backend, name of the application. */
const terminate = `-- name: terminate a tenant's backend
select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
where a.pid = $1::int and a.application_name = $2 and a.datname = current_database() and a.usename = current_user`;

/** {@link TenantPool} of connections to PostgreSQL. Where the database is, is asked with the first one. */
export class PostgresTenantPool implements TenantPool {
  readonly tenant: string;
  readonly #parts: PostgresTenantPoolParts;
  readonly #lent = new Set<PostgresTenantConnection>();
  readonly #line = new WaitingLine();
  /** Connections that are lent, or being opened to be lent. */
  #taken = 0;
  /** What the next connection is made with. */
  #opening: Promise<Opened> | undefined;
  /** That, and what was made with older credentials and is not all given back. */
  readonly #opened = new Map<Opened, Promise<void> | undefined>();
  #rest: { readonly error: unknown; readonly until: number } | undefined;
  #failure: string | undefined;
  #closed = false;

  constructor(tenant: string, parts: PostgresTenantPoolParts) {
    this.tenant = tenant;
    this.#parts = parts;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  get counts(): { readonly connections: number; readonly inUse: number; readonly waiting: number } {
    const connections = [...this.#opened.keys()].reduce((sum, { pool }) => sum + pool.totalCount, 0);
    return { connections, inUse: this.#lent.size, waiting: this.#line.length };
  }

  async lease(ended: () => void): Promise<PostgresTenantConnection> {
    await this.#takeTurn();
    try {
      this.#refuseWhileResting();
      return this.#lend(await this.#connect(), ended);
    } catch (error) {
      this.#endTurn();
      throw error;
    }
  }

  /** Closes connections as they come back; the next ones are made with credentials that are fetched anew. */
  retire(): void {
    this.#rest = undefined;
    if (this.#opening) this.#discard(this.#opening);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#line.dismiss();
    this.retire();
    for (const lent of this.#lent) lent.destroy(new Error('the connection is closing'));
    await Promise.all(
      [...this.#opened.keys()].map((opened) => opened.sockets.closeAfter(this.#end(opened), goodbyeMs)),
    );
  }

  async #takeTurn(): Promise<void> {
    const { maxConnectionsPerTenant, waitTimeoutMs } = this.#parts.options;
    if (this.#taken < maxConnectionsPerTenant) this.#taken += 1;
    else if (!(await this.#line.wait(waitTimeoutMs))) {
      if (this.#closed) throw closing();
      throw unavailable(
        `all ${maxConnectionsPerTenant} connections to the database of tenant ${this.tenant} were in use for ` +
          `${waitTimeoutMs} ms: raise tenantDatabases.maxConnectionsPerTenant, or make its handlers shorter`,
      );
    }
  }

  /** The next one that waits takes over. */
  #endTurn(): void {
    if (!this.#line.next()) this.#taken -= 1;
  }

  #refuseWhileResting(): void {
    if (this.#rest && performance.now() < this.#rest.until) throw this.#rest.error;
  }

  async #connect(): Promise<Connected> {
    const begun = performance.now();
    try {
      const connected = await this.#connectOnceOrTwice();
      this.#noteSuccess();
      return connected;
    } catch (error) {
      throw this.#noteFailure(error, performance.now() - begun);
    }
  }

  /** Credentials change: with those that are refused the next ones are fetched, once. */
  async #connectOnceOrTwice(): Promise<Connected> {
    const first = this.#open();
    try {
      return await connectTo(await first);
    } catch (error) {
      if (!isRefusedLogin(error) && !isDiscarded(error)) throw error;
      this.#discard(first);
    }
    return connectTo(await this.#open());
  }

  /** One at a time, however many wait for it. */
  #open(): Promise<Opened> {
    if (!this.#opening) {
      const opening = this.#make();
      this.#opening = opening;
      opening.catch(() => {
        if (this.#opening === opening) this.#opening = undefined;
      });
    }
    return this.#opening;
  }

  async #make(): Promise<Opened> {
    const { options, applicationName } = this.#parts;
    const config = readConfig(await this.#resolve(), this.tenant);
    if (this.#closed) throw closing();
    const sockets = new Sockets();
    const pool = new Pool({
      stream: sockets.open,
      ...config,
      application_name: applicationName,
      connectionTimeoutMillis: options.connectTimeoutMs,
      ...(options.queryTimeoutMs > 0 ? { query_timeout: options.queryTimeoutMs } : {}),
      max: options.maxConnectionsPerTenant,
      idleTimeoutMillis: options.idleMs,
    });
    pool.on('connect', (client) => client.on('error', () => undefined));
    // A server that goes takes the idle ones along; others are opened when they are needed.
    pool.on('error', () => undefined);
    const opened: Opened = { pool, sockets, since: performance.now() };
    this.#opened.set(opened, undefined);
    return opened;
  }

  async #resolve(): Promise<PostgresConnection> {
    const { resolve, options } = this.#parts;
    const { resolveTimeoutMs } = options;
    const aborting = new AbortController();
    const { reached, cancel } = deadlineIn(resolveTimeoutMs);
    const late = reached.then(() => {
      const error = unavailable(`where it is was not known within ${resolveTimeoutMs} ms`);
      aborting.abort(error);
      throw error;
    });
    try {
      return await Promise.race([resolve(this.tenant, { signal: aborting.signal }), late]);
    } finally {
      cancel();
    }
  }

  #lend({ client, pool }: Connected, ended: () => void): PostgresTenantConnection {
    const { applicationName, statements } = this.#parts;
    const lent: PostgresTenantConnection = new PostgresTenantConnection(this.tenant, client, statements, {
      ended: () => {
        this.#lent.delete(lent);
        this.#endTurn();
        ended();
      },
      terminate: (processId) => {
        pool.query(terminate, [processId, applicationName]).catch(() => undefined);
      },
    });
    this.#lent.add(lent);
    // Its user hears of it by the first statement.
    if (this.#closed) lent.destroy(new Error('the connection is closing'));
    return lent;
  }

  #discard(opening: Promise<Opened>): void {
    if (this.#opening === opening) this.#opening = undefined;
    opening.then(
      (opened) => void this.#end(opened),
      () => undefined,
    );
  }

  /** Resolves when all its connections are given back and closed. */
  #end(opened: Opened): Promise<void> {
    const ending = this.#opened.get(opened) ?? opened.pool.end();
    this.#opened.set(opened, ending);
    void ending.then(() => this.#opened.delete(opened));
    return ending;
  }

  #noteSuccess(): void {
    this.#rest = undefined;
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#parts.restored(this.tenant);
  }

  #noteFailure(error: unknown, tookMs: number): unknown {
    const { restMs, connectTimeoutMs } = this.#parts.options;
    const told = explain(error, this.tenant, connectTimeoutMs);
    if (this.#closed) return told;
    const isRefused = isRefusedLogin(error) || error instanceof TenantRefusal;
    if (isRefused || tookMs >= slowMs) this.#rest = { error: told, until: performance.now() + restMs };
    void this.#forgetOld(this.#opening, restMs);
    const isNews = this.#failure === undefined;
    this.#failure = messageOf(told);
    if (isNews) this.#parts.failed(this.tenant, this.#failure);
    return told;
  }

  /** The database may have moved: where it is, is looked up again, but not for every task that fails. */
  async #forgetOld(opening: Promise<Opened> | undefined, restMs: number): Promise<void> {
    const opened = await opening?.catch(() => undefined);
    if (opening && opened && performance.now() - opened.since >= restMs) this.#discard(opening);
  }
}

function closing(): TarefaError {
  return unavailable('its connections are being closed');
}

interface Connected {
  readonly client: PoolClient;
  readonly pool: Pool;
}

async function connectTo({ pool }: Opened): Promise<Connected> {
  if (pool.ending) throw new Discarded();
  return { client: await pool.connect(), pool };
}

/** Another attempt has found out that these credentials do not work any more. */
class Discarded extends Error {
  override readonly message = 'its credentials were replaced twice while it was connected to';
}

function isDiscarded(error: unknown): boolean {
  return error instanceof Discarded;
}

/**
 * Never shows what it was given. One that names no database is refused: the driver's default would be the same for all
 * tenants.
 */
function readConfig(connection: unknown, tenant: string): ClientConfig {
  const isUrl = typeof connection === 'string' && /^(postgres|postgresql|socket):\/\/|^\//.test(connection);
  const config = isUrl || (typeof connection === 'object' && connection !== null) ? connection : undefined;
  try {
    const read = connectionConfig(config as PostgresConnection);
    connectionKey(read);
    if (namesDatabase(read)) return read;
  } catch {
    // Said below, without what it was.
  }
  throw unavailable(
    `what was given as the address of the database of tenant ${tenant} is neither a URL that begins with postgres:// nor ` +
      `a configuration of pg with a database (special characters of a password stand in a URL as %XX)`,
  );
}

function namesDatabase({ database, connectionString: url }: ClientConfig): boolean {
  if (database) return true;
  return (
    url !== undefined &&
    (!URL.canParse(url) || !url.startsWith('postgres') || new URL(url).pathname.length > 1)
  );
}

function explain(error: unknown, tenant: string, connectTimeoutMs: number): unknown {
  if (isSteering(error)) return error;
  const isTimeout =
    error instanceof Error && /timeout expired|connection timeout|timeout exceeded/.test(error.message);
  const reason = isTimeout ? `no connection within ${connectTimeoutMs} ms` : messageOf(error);
  const what = `the database of tenant ${tenant} cannot be used: ${reason}`;
  if (isRefusedLogin(error) || error instanceof TenantRefusal) return new TenantRefusal(what, error);
  return unavailable(what, error);
}
