import type { QueueIdentity } from '../task-row.js';
import type { Answer, TextRow } from './connections/answers.js';
import type { ControlConnection, ControlConnections, ControlName } from './connections/control-connection.js';
import type { OwnPool } from './connections/own-pool.js';
import type { Run } from './connections/transactions.js';
import { mysqlDialect, type Dialect } from './dialect.js';
import type { QueueTables } from './identifiers.js';
import type { PreparedQueue } from './schema/prepare-schema.js';

/** The connections of a queue. */
export interface MysqlConnections {
  /** Handlers' transactions. */
  readonly tasks: OwnPool;
  /** Everything else of the library: handlers that hold all of theirs do not delay it. */
  readonly own: OwnPool;
  /** Undefined in a process that only produces. */
  readonly control: ControlConnections | undefined;
  /** Of all of them. Default: MySQL's. */
  readonly dialect?: Dialect | undefined;
}

/** How every part of the database reaches it: the connections, and the queue's names once its tables are prepared. */
export class MysqlAccess {
  readonly tasks: OwnPool;
  readonly own: OwnPool;
  readonly control: ControlConnections | undefined;
  readonly dialect: Dialect;
  #prepared: PreparedQueue | undefined;

  constructor({ tasks, own, control, dialect = mysqlDialect }: MysqlConnections) {
    this.tasks = tasks;
    this.own = own;
    this.control = control;
    this.dialect = dialect;
  }

  /** The tables are there: from now on there are statements. */
  prepare(prepared: PreparedQueue): void {
    this.#prepared = prepared;
  }

  get prepared(): PreparedQueue {
    if (!this.#prepared) throw new Error('the storage is not prepared');
    return this.#prepared;
  }

  get tables(): QueueTables {
    return this.prepared.tables;
  }

  get identity(): QueueIdentity {
    const { identity, tables } = this.prepared;
    if (identity === undefined) throw new Error('a process that only produces claims no tasks');
    return { identity, qualifiedName: tables.qualifiedName };
  }

  /** Runs one statement on a connection that claims; returns its rows. */
  async ask(text: string, values: readonly unknown[] = []): Promise<readonly TextRow[]> {
    return (await this.controlled().query(text, values)).rows;
  }

  /** Runs one statement on a connection that claims, which changes rows. */
  change(text: string, values: readonly unknown[] = []): Promise<Answer> {
    return this.controlled().query(text, values);
  }

  /**
   * Runs work that is one transaction on a connection that claims: its statements begin and end it, and it is run again from its
   * beginning when it loses to others.
   */
  transaction<T>(work: (run: Run) => Promise<T>, name: ControlName = 'first'): Promise<T> {
    return this.controlled(name).transaction(work);
  }

  /** A connection that claims. */
  controlled(name: ControlName = 'first'): ControlConnection {
    const connection = this.control?.[name];
    if (!connection) throw new Error('this process only produces: it has no connection to claim with');
    return connection;
  }

  async close(): Promise<void> {
    if (this.control) await Promise.all([this.control.first.close(), this.control.second.close()]);
    await Promise.all([this.tasks.close(), this.own.close()]);
  }
}
