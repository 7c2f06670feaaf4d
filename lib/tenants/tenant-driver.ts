import type { TenantConnection } from './tenant-connection.js';

/** How databases of tenants are connected to: one for each kind of database. */
export interface TenantDriver {
  /**
   * Reads what a resolver has answered, and connects to nothing yet. Rejects with `TENANT_UNAVAILABLE`, without showing what it
   * was: it may hold a password.
   */
  open(connection: unknown, tenant: string): TenantConnections;
  /** True when the database did not let us in with these credentials, which may have changed. */
  isRefusedLogin(error: unknown): boolean;
  /** True when a connection was not there in time. */
  isLate(error: unknown): boolean;
}

/** How a {@link TenantConnection} that was lent ends: it is back, or gone. */
export type ConnectionEnded = (connection: TenantConnection) => void;

/** Connections made with one set of credentials. */
export interface TenantConnections {
  /** Those that are open. */
  readonly count: number;
  /** True when no more are made. */
  readonly ending: boolean;
  /** Lends one that is idle, or a new one. */
  connect(ended: ConnectionEnded): Promise<TenantConnection>;
  /** Closes those that are idle, and the others as they come back; resolves when none is left. Idempotent. */
  end(): Promise<void>;
  /** Waits for that, but not for a server that fell silent. */
  close(): Promise<void>;
}
