import type { Connection, ConnectionOptions } from 'mysql2';
import { ConnectionLine } from '../../pooling.js';
import type { ResolvedTenantOptions } from '../../../options/tenant-options.js';
import type { TenantConnection } from '../../../tenants/tenant-connection.js';
import type { ConnectionEnded, TenantConnections } from '../../../tenants/tenant-driver.js';
import { within } from '../../../timing/deadline.js';
import { connectWithin, withAnswerLimit } from '../connections/answer-limit.js';
import { ask } from '../connections/answers.js';
import { taskSettings } from '../connections/mysql-config.js';
import type { Mysql2 } from '../connections/mysql-package.js';
import { quoteIdentifier } from '../identifiers.js';
import type { DoneStatements } from './done-table.js';
import { isRefusedLogin } from './login-error.js';
import { MysqlTenantConnection } from './mysql-tenant-connection.js';
import { endSession, notePlace } from '../connections/session-place.js';
import { streamOf } from '../connections/stream-of.js';

/** How long a server may take to close what is said goodbye to. */
const goodbyeMs = 500;

/** What logging in has set, and no reset brings back: the driver asks for a mode of SQL. Nor does one go back to the database. */
const asLoggedIn = `set session sql_mode = trim(both ',' from concat('IGNORE_SPACE,', @@session.sql_mode))`;

/** What of the options concerns connections. */
export type ConnectionLimits = Pick<
  ResolvedTenantOptions,
  'connectTimeoutMs' | 'queryTimeoutMs' | 'maxConnectionsPerTenant' | 'waitTimeoutMs' | 'idleMs'
>;

/**
 * {@link TenantConnections} to MySQL or MariaDB. Not a pool of the driver's: one that ends would say goodbye to connections that
 * are lent, too.
 */
export class MysqlTenantConnections implements TenantConnections {
  readonly #tenant: string;
  readonly #mysql: Mysql2;
  readonly #config: ConnectionOptions;
  readonly #limits: ConnectionLimits;
  readonly #statements: DoneStatements;
  readonly #line: ConnectionLine<Connection>;
  /** Open, or being opened. */
  readonly #open = new Set<Connection>();
  /** The one used last is at the end, and is lent first: the others grow old. */
  readonly #idle = new Map<Connection, NodeJS.Timeout>();
  readonly #killing = new Set<Promise<void>>();
  #empty: (() => void) | undefined;
  #ended: Promise<void> | undefined;

  constructor(
    tenant: string,
    mysql: Mysql2,
    config: ConnectionOptions,
    limits: ConnectionLimits,
    statements: DoneStatements,
  ) {
    this.#tenant = tenant;
    this.#mysql = mysql;
    this.#config = config;
    this.#limits = limits;
    this.#statements = statements;
    this.#line = new ConnectionLine({
      max: limits.maxConnectionsPerTenant,
      open: async () => this.#takeIdle() ?? (await this.#connect()),
      keep: (connection) => this.#keep(connection),
      isUsable: (connection) => this.#open.has(connection),
      isFinal: isRefusedLogin,
    });
  }

  get count(): number {
    return this.#open.size;
  }

  get ending(): boolean {
    return this.#ended !== undefined;
  }

  async connect(ended: ConnectionEnded): Promise<TenantConnection> {
    const connection = await this.#line.take(this.#limits.waitTimeoutMs);
    const lent: TenantConnection = new MysqlTenantConnection(this.#tenant, connection, {
      queryTimeoutMs: this.#limits.queryTimeoutMs,
      statements: this.#statements,
      reset: this.#reset,
      back: () => {
        this.#line.back(connection);
        ended(lent);
      },
      cut: (isAtWork) => {
        if (isAtWork) this.#kill(connection);
        this.#line.gone(connection);
        ended(lent);
      },
    });
    return lent;
  }

  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async close(): Promise<void> {
    await within(this.end(), goodbyeMs);
    for (const connection of this.#open) streamOf(connection).destroy();
    await this.end();
  }

  async #end(): Promise<void> {
    this.#line.close(new Error('these connections are being closed'));
    const empty = new Promise<void>((resolve) => (this.#empty = resolve));
    for (const connection of this.#idle.keys()) this.#close(connection);
    if (this.#open.size > 0) await empty;
    await Promise.all(this.#killing);
  }

  #takeIdle(): Connection | undefined {
    const connection = [...this.#idle.keys()].at(-1);
    if (connection) this.#forgetIdle(connection);
    return connection;
  }

  async #connect(): Promise<Connection> {
    const { connectTimeoutMs } = this.#limits;
    const connection = this.#make();
    this.#open.add(connection);
    streamOf(connection).once('close', () => this.#closed(connection));
    try {
      await connectWithin(connection, connectTimeoutMs);
      await withAnswerLimit(connection, ask(connection, taskSettings), connectTimeoutMs);
      notePlace(connection, (text, values) => ask(connection, text, values));
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  #make(): Connection {
    const connection = this.#mysql.createConnection({
      ...this.#config,
      connectTimeout: this.#limits.connectTimeoutMs,
    });
    // Told by the statements that fail of it. A server that goes takes the idle ones along; others are opened when needed.
    connection.on('error', () => undefined);
    return connection;
  }

  /** Leaves a session as it was opened. */
  readonly #reset = async (connection: Connection): Promise<void> => {
    await new Promise<void>((resolve, reject) => {
      // Its type is that of the interface with promises.
      const reset = connection.reset.bind(connection) as (done: (error: unknown) => void) => void;
      reset((error) => (error ? reject(error) : resolve()));
    });
    const database = quoteIdentifier(String(this.#config.database));
    await ask(connection, `-- name: reset_tenant_session\nuse ${database}; ${asLoggedIn}; ${taskSettings}`);
  };

  #keep(connection: Connection): void {
    if (!this.#open.has(connection)) return;
    if (this.ending) {
      this.#close(connection);
      return;
    }
    this.#idle.set(
      connection,
      setTimeout(() => this.#close(connection), this.#limits.idleMs),
    );
  }

  #close(connection: Connection): void {
    this.#forgetIdle(connection);
    const stream = streamOf(connection);
    const late = setTimeout(() => stream.destroy(), goodbyeMs);
    stream.once('close', () => clearTimeout(late));
    connection.end();
  }

  #closed(connection: Connection): void {
    this.#forgetIdle(connection);
    this.#open.delete(connection);
    this.#line.drop(connection);
    if (this.#open.size === 0) this.#empty?.();
  }

  #forgetIdle(connection: Connection): void {
    clearTimeout(this.#idle.get(connection));
    this.#idle.delete(connection);
  }

  /** A server at work on a statement does not notice that its client is gone, and keeps its locks: it is told. */
  #kill(connection: Connection): void {
    const killer = this.#make();
    const killing = endSession(connection, (text, values) => ask(killer, text, values));
    const killed = withAnswerLimit(killer, killing, this.#killMs)
      .catch(() => undefined)
      .then(() => {
        killer.destroy();
        this.#killing.delete(killed);
      });
    this.#killing.add(killed);
  }

  /** Closing waits for it. */
  get #killMs(): number {
    return Math.min(this.#limits.connectTimeoutMs, 2_000);
  }
}
