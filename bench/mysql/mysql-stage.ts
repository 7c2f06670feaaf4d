import { createConnection } from 'mysql2/promise';
import type { Peer } from '../peers.js';
import { Crew } from '../processes/crew.js';
import type { MariadbServer } from '../servers/mariadb-server.js';
import type { PostgresServer } from '../servers/postgres-server.js';

/** Where stages are set up. */
export interface MysqlStageParts {
  readonly mariadb: MariadbServer;
  /** For the peer that is there. */
  readonly postgres: PostgresServer;
  readonly redisPort: number | undefined;
  readonly peer: Peer;
  readonly node: string;
  readonly adapter: string;
}

/** Of the peer on PostgreSQL. */
const postgresDatabase = 'bench_beside';

/** What one run happens on: an empty database on MariaDB, and the processes that use it. */
export class MysqlStage extends Crew {
  readonly peer: Peer;
  readonly #parts: MysqlStageParts;
  readonly #url: string;

  static async open(parts: MysqlStageParts): Promise<MysqlStage> {
    const { mariadb, postgres, peer } = parts;
    const url = isOnPostgres(peer)
      ? await postgres.createDatabase(postgresDatabase)
      : await mariadb.emptyDatabase();
    const stage = new MysqlStage(parts, url);
    try {
      await stage.setUp();
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  private constructor(parts: MysqlStageParts, url: string) {
    const { node, adapter, redisPort, peer } = parts;
    super(node, adapter, { database: url, redisPort, setting: peer.setting, topics: 1 });
    this.peer = peer;
    this.#parts = parts;
    this.#url = url;
  }

  /** Of all sessions, since the server's start. */
  deadlocks(): Promise<number> {
    return this.#parts.mariadb.deadlocks();
  }

  /** Holds a snapshot until the returned function is called. */
  async holdSnapshot(): Promise<() => Promise<void>> {
    const connection = await createConnection(this.#url);
    await connection.query('set session transaction isolation level repeatable read');
    await connection.query('start transaction with consistent snapshot');
    return async () => {
      await connection.query('rollback');
      await connection.end();
    };
  }

  async close(): Promise<void> {
    await this.endProcesses();
    if (isOnPostgres(this.peer)) await this.#parts.postgres.dropDatabase(postgresDatabase);
  }
}

function isOnPostgres({ product }: Peer): boolean {
  return product === 'tarefa on postgres';
}
