import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { startMysql, type MysqlServer } from '../../test/support/mysql-server.js';

/** Given to the server besides its own defaults. Commits are durable. */
const settings = [
  'innodb-buffer-pool-size=1G',
  'innodb-log-file-size=1G',
  'innodb-flush-log-at-trx-commit=1',
  'innodb-doublewrite=1',
];

const shownSettings = [
  ...['version', 'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_flush_log_at_trx_commit'],
  ...['innodb_doublewrite', 'transaction_isolation', 'tx_isolation', 'log_bin', 'innodb_snapshot_isolation'],
];

/** Database of the measured queues: the library's table is `bench.task` on every database. */
const database = 'bench';

/** The benchmark's own MariaDB: Debian's package, unpacked in the cache of the tests. It ends with this process. */
export class MariadbServer {
  readonly #server: MysqlServer;
  readonly #connection: Connection;

  static async start(): Promise<MariadbServer> {
    const server = await startMysql('mariadb', { durable: true, more: settings });
    const connection = await createConnection({ uri: server.url, multipleStatements: true });
    return new MariadbServer(server, connection);
  }

  private constructor(server: MysqlServer, connection: Connection) {
    this.#server = server;
    this.#connection = connection;
  }

  /** As the server says itself. */
  async settings(): Promise<Record<string, string>> {
    const rows = await this.#ask(
      `show global variables where variable_name in (${shownSettings.map((name) => `'${name}'`).join(', ')})`,
    );
    return Object.fromEntries(rows.map((row) => [String(row['Variable_name']), String(row['Value'])]));
  }

  /** Removes the measured queues with all that is in them, and answers the address of the empty database. */
  async emptyDatabase(): Promise<string> {
    await this.#connection.query(`drop database if exists ${database}; create database ${database}`);
    return `${this.#server.url}/${database}`;
  }

  /** Since the server's start, of all sessions. */
  async deadlocks(): Promise<number> {
    const [row] = await this.#ask(`show global status like 'Innodb_deadlocks'`);
    return Number(row?.['Value']);
  }

  async stop(): Promise<void> {
    await this.#connection.end();
    await this.#server.stop();
  }

  async #ask(sql: string): Promise<RowDataPacket[]> {
    const [rows] = await this.#connection.query<RowDataPacket[]>(sql);
    return rows;
  }
}
