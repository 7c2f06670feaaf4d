import type { DriverClient } from '../storage/driver-client.js';
import type { TenantAnswer } from '../storage/tenant-db.js';

/**
 * One connection to a tenant's database, lent to one attempt. Statements are sent one at a time; one that gets no answer cuts
 * the connection and rejects with `TENANT_UNAVAILABLE`.
 */
export interface TenantConnection {
  readonly tenant: string;
  /** True when it was given back or cut. */
  readonly gone: boolean;
  /** True when nothing is under way on it and no transaction is open. */
  readonly idle: boolean;
  /** Runs one statement. */
  query(text: string, values?: unknown[]): Promise<TenantAnswer>;
  /** Begins a transaction. */
  begin(): Promise<void>;
  /** Begins a transaction for {@link markDone}: it waits for another one that marks the same, and sees its mark. */
  beginOnce(): Promise<void>;
  /** Ends the transaction; false when it was rolled back because a statement in it had failed. */
  commit(): Promise<boolean>;
  /** Undoes the transaction. */
  rollback(): Promise<void>;
  /** Marks a step of a task as done; false when it was already. Rejects with `SCHEMA_MISSING` without the table of marks. */
  markDone(key: string, step: string): Promise<boolean>;
  /** Makes the table of marks, unless it is there. */
  createDoneTable(): Promise<void>;
  /** Deletes marks that are older, at most `limit`; returns how many. */
  purgeDone(olderThanSeconds: number, limit: number): Promise<number>;
  /** The driver's client, which refuses statements once the handler has ended. */
  client(hasEnded: () => boolean): DriverClient;
  /** Waits until everything sent has been answered; false when that takes too long or the connection is gone. */
  settled(): Promise<boolean>;
  /** Gives the connection back as it was lent, or closes it: an open transaction is never handed on. Never rejects. */
  giveBack(): Promise<void>;
  /** Closes the connection, whatever it is doing; the server then rolls back. Idempotent. */
  destroy(reason: Error): void;
}

/** The connections to one tenant's database. */
export interface TenantPool {
  readonly tenant: string;
  /** Why it could not be used last; undefined when it could. */
  readonly failure: string | undefined;
  /** Connections that are open, lent, and waited for. */
  readonly counts: { readonly connections: number; readonly inUse: number; readonly waiting: number };
  /**
   * Lends a connection; rejects with `TENANT_UNAVAILABLE`.
   *
   * @param ended is called when the connection is back, unless this rejects
   */
  lease(ended: () => void): Promise<TenantConnection>;
  /** Closes connections as they come back, and forgets where the database is. */
  retire(): void;
  /** Closes every connection, also those lent. */
  close(): Promise<void>;
}
