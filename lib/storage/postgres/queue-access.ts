import type { SqlHandle } from '../sql-handle.js';
import { noAnswer, wrapConnectionError, type Reach } from './connections/connection-config.js';
import type { ControlConnections, ControlName, TextRow } from './connections/control-connection.js';
import { inTransaction, type OwnPool, asQuery } from './connections/own-pool.js';
import { isRingRefused, runQuietly } from './connections/without-ring.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import type { QueueIdentity } from '../task-row.js';
import type { PreparedSchema } from './schema/prepare-schema.js';
import type { Statement } from './statement.js';
import { queueStatements, type QueueStatements } from './statements.js';
import { storableTexts, type StorableTexts } from './storable-texts.js';

/** The connections of a queue. */
export interface QueueAccessParts {
  readonly pool: OwnPool;
  /** For inserts and single changes: handlers that hold the whole pool do not delay them. */
  readonly inserts: SqlHandle;
  /** Runs work in a transaction of its own on the pool that inserts. */
  readonly inOwnTransaction: RunTransaction;
  /** For people who look: neither do handlers wait for them, nor they for handlers. Opened at first use. */
  readonly onlookers: () => OwnPool;
  /** Undefined in a process that only produces. */
  readonly control: ControlConnections | undefined;
  /** What stands between the pool and the database. */
  readonly reach: Reach;
  /** True when workers of nsj-queue-lib serve the same table. */
  readonly interop: boolean;
}

/** People who look wait at most this long for an answer. */
const lookTimeoutMs = 10_000;

/** How every part of the database reaches it: the connections, and the queue's statements once its tables are prepared. */
export class QueueAccess {
  readonly pool: OwnPool;
  readonly inserts: SqlHandle;
  readonly inOwnTransaction: RunTransaction;
  /** Runs work in a transaction of its own on a connection for people who look. */
  readonly lookInTransaction: RunTransaction;
  /** Runs each statement on a connection for people who look, in a transaction with a time limit. */
  readonly looks: SqlHandle;
  readonly control: ControlConnections | undefined;
  readonly reach: Reach;
  readonly interop: boolean;
  // Set by `prepare`, before anything asks.
  sql!: QueueStatements;
  schema!: PreparedSchema;
  /** Undefined where the database's encoding takes every text. */
  texts: StorableTexts | undefined;
  /** Of a process that works. */
  identity!: QueueIdentity;

  constructor(parts: QueueAccessParts) {
    const { pool, inserts, inOwnTransaction, onlookers, control, reach, interop } = parts;
    this.pool = pool;
    this.inserts = inserts;
    this.inOwnTransaction = (work) => inOwnTransaction(work).catch(rethrowConnectionError);
    this.lookInTransaction = (work) => inTransaction(onlookers(), work).catch(rethrowConnectionError);
    this.looks = limited(this.lookInTransaction);
    this.control = control;
    this.reach = reach;
    this.interop = interop;
  }

  /** The tables are there: from now on there are statements. */
  prepare(schema: PreparedSchema): void {
    const { tables, identity = '', encoding } = schema;
    this.schema = schema;
    this.sql = queueStatements(tables);
    this.texts = storableTexts(encoding);
    this.identity = { identity, qualifiedName: tables.qualifiedName };
  }

  /** Runs a statement on a connection that claims; returns its values as text. */
  async ask(
    statement: Statement,
    values: readonly unknown[],
    name: ControlName = 'first',
  ): Promise<readonly TextRow[]> {
    const connection = this.control?.[name];
    if (!connection) throw new Error('this process only produces: it has no connection to claim with');
    return connection.query(statement, values).catch(rethrowConnectionError);
  }

  /** Runs a statement on any connection of the pool, for which it waits as handlers do. */
  onPool(statement: Statement, values: readonly unknown[]): ReturnType<SqlHandle['query']> {
    return this.pool
      .query(asQuery(statement, this.reach, values), undefined, Infinity)
      .catch((error: unknown) => {
        if (!isRingRefused(error)) throw error;
        const run: RunTransaction = (work) => inTransaction(this.pool, work);
        return runQuietly(run, (tx) => tx.query(statement.text, [...values]));
      })
      .catch(rethrowConnectionError);
  }

  /** Runs work in a transaction of its own on a connection of the pool. */
  inTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    return inTransaction(this.pool, work).catch(rethrowConnectionError);
  }

  async close(): Promise<void> {
    if (this.control) await Promise.all([this.control.first.close(), this.control.second.close()]);
    await this.pool.end();
  }
}

function limited(transaction: RunTransaction): SqlHandle {
  return {
    query: (text, values) =>
      transaction(async (tx) => {
        await tx.query(`set local statement_timeout = ${lookTimeoutMs}`);
        return tx.query(text, values);
      }),
  };
}

/** Lets the layers above see a lost connection without knowing the driver. */
export function rethrowConnectionError(error: unknown): never {
  throw wrapConnectionError(error, noAnswer);
}
