import { Pool, type ClientConfig } from 'pg';
import type { PostgresConnection } from '../../../options/postgres-connection.js';
import type { ResolvedTenantOptions } from '../../../options/tenant-options.js';
import type { TenantConnection } from '../../../tenants/tenant-connection.js';
import type { ConnectionEnded, TenantConnections, TenantDriver } from '../../../tenants/tenant-driver.js';
import { unavailable } from '../../../tenants/tenant-error.js';
import { noteBackend, terminateBackend } from '../connections/backend.js';
import { connectionConfig, connectionKey } from '../connections/connection-config.js';
import { OwnPool } from '../connections/own-pool.js';
import { goodbyeMs, Sockets } from '../connections/sockets.js';
import { doneStatements, type DoneStatements } from './done-table.js';
import { PostgresTenantConnection } from './postgres-tenant-connection.js';

/** What of the options concerns connections. */
type Limits = Pick<
  ResolvedTenantOptions,
  | 'connectTimeoutMs'
  | 'queryTimeoutMs'
  | 'maxConnectionsPerTenant'
  | 'waitTimeoutMs'
  | 'idleMs'
  | 'dedupTable'
>;

/** {@link TenantDriver} of PostgreSQL. */
export class PostgresTenantDriver implements TenantDriver {
  readonly #options: Limits;
  readonly #applicationName: string;
  readonly #statements: DoneStatements;

  constructor(options: Limits, applicationName: string) {
    this.#options = options;
    this.#applicationName = applicationName;
    this.#statements = doneStatements(options.dedupTable);
  }

  open(connection: unknown, tenant: string): TenantConnections {
    const { connectTimeoutMs, queryTimeoutMs, maxConnectionsPerTenant, waitTimeoutMs, idleMs } =
      this.#options;
    const sockets = new Sockets();
    const pool = new Pool({
      stream: sockets.open,
      ...readConfig(connection, tenant),
      application_name: this.#applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      ...(queryTimeoutMs > 0 ? { query_timeout: queryTimeoutMs } : {}),
      max: maxConnectionsPerTenant,
      idleTimeoutMillis: idleMs,
    });
    // A server that goes takes the idle ones along; others are opened when they are needed.
    pool.on('error', () => undefined);
    return new PostgresTenantConnections(
      tenant,
      new OwnPool(pool, { patienceMs: waitTimeoutMs, isFinal: isRefusedLogin }),
      sockets,
      this.#statements,
    );
  }

  isRefusedLogin(error: unknown): boolean {
    return isRefusedLogin(error);
  }

  isLate(error: unknown): boolean {
    return (
      error instanceof Error && /timeout expired|connection timeout|timeout exceeded/.test(error.message)
    );
  }
}

/** {@link TenantConnections} to PostgreSQL. */
class PostgresTenantConnections implements TenantConnections {
  readonly #tenant: string;
  readonly #pool: OwnPool;
  readonly #sockets: Sockets;
  readonly #statements: DoneStatements;
  #ended: Promise<void> | undefined;

  constructor(tenant: string, pool: OwnPool, sockets: Sockets, statements: DoneStatements) {
    this.#tenant = tenant;
    this.#pool = pool;
    this.#sockets = sockets;
    this.#statements = statements;
  }

  get count(): number {
    return this.#pool.count;
  }

  get ending(): boolean {
    return this.#pool.ending;
  }

  async connect(ended: ConnectionEnded): Promise<TenantConnection> {
    const client = await this.#pool.connect();
    void noteBackend(client);
    const lent: TenantConnection = new PostgresTenantConnection(this.#tenant, client, this.#statements, {
      ended: () => ended(lent),
      terminate: () => terminateBackend(client, this.#pool),
    });
    return lent;
  }

  end(): Promise<void> {
    this.#ended ??= this.#pool.end();
    return this.#ended;
  }

  close(): Promise<void> {
    return this.#sockets.closeAfter(this.end(), goodbyeMs);
  }
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
    `the address given for the database of tenant ${tenant} is neither a URL that begins with postgres:// nor ` +
      `a configuration of pg with a database (in a URL, special characters of a password are written as %XX)`,
  );
}

function namesDatabase({ database, connectionString: url }: ClientConfig): boolean {
  if (database) return true;
  return (
    url !== undefined &&
    (!URL.canParse(url) || !url.startsWith('postgres') || new URL(url).pathname.length > 1)
  );
}

/** Wrong password, unknown role, no entry in pg_hba, or no such database: credentials may have changed. */
const refusedLogins = new Set(['28P01', '28000', '3D000']);

/** True when PostgreSQL did not let us in with these credentials. */
function isRefusedLogin(error: unknown): boolean {
  return refusedLogins.has((error as { code?: string } | null | undefined)?.code ?? '');
}
