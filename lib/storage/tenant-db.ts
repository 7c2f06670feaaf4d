import type { DriverClient } from './driver-client.js';
import type { SqlHandle } from './sql-handle.js';

/** What a statement answered. */
export interface TenantAnswer<Row = Record<string, unknown>> {
  readonly rows: Row[];
  /** Rows that were changed or read; null where that means nothing. */
  readonly rowCount: number | null;
}

/** A connection, or a transaction on it, to a tenant's database. */
export interface TenantSql extends SqlHandle {
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<TenantAnswer<Row>>;
}

/** Whether work that is done once was done now, and what it returned. */
export type Once<T> = { readonly ran: true; readonly value: T } | { readonly ran: false };

/** Which part of a task is done once. */
export interface OnceOptions {
  /** Name of the part, where a handler has several. Default: the whole task is one. */
  readonly step?: string | undefined;
}

/**
 * A connection to the database of a task's tenant. It is not part of the queue's transaction: what is done here stays
 * when the attempt fails afterwards, and is done again by the next one, unless it is done by `once`.
 */
export interface TenantDb extends TenantSql {
  readonly tenant: string;

  /** Runs one statement, which commits by itself. Statements of one handler run one after the other. */
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<TenantAnswer<Row>>;

  /**
   * Runs work in a transaction, which commits when it returns and rolls back when it throws. Meanwhile statements go
   * through the `tx` that it is given.
   *
   * @throws {TarefaError} `TRANSACTION_BROKEN` when a statement failed and its error was swallowed
   */
  transaction<T>(work: (tx: TenantSql) => Promise<T>): Promise<T>;

  /**
   * Runs work in a transaction, unless an earlier attempt of this task has done it: what it changes in this database happens once.
   * Needs a small table there, which `TenantDatabases.createDedupTable()` makes.
   *
   * @example await db.once((tx) => tx.query('update account set balance = balance - $1', [order.total]));
   * @throws {TarefaError} `SCHEMA_MISSING` without that table
   */
  once<T>(work: (tx: TenantSql) => Promise<T>, options?: OnceOptions): Promise<Once<T>>;

  /**
   * The `pg` client of this connection, for libraries that take one. Its `release()` does nothing, and it refuses
   * statements when the handler has ended.
   */
  client(): Promise<DriverClient>;
}
