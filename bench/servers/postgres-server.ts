import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { removeOldRuns } from './old-runs.js';
import { startProcess, stopProcess } from './server-outage.js';
import { startEmbeddedPostgres } from '../../lib/index.js';

/** Given to the server; everything else is PostgreSQL's default. Commits are durable. */
const settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '1GB',
  max_connections: '200',
  // Loaded, but counting only in databases that ask for it: see `countStatements`.
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
  compute_query_id: 'off',
};

const shownSettings = [
  ...['server_version', ...Object.keys(settings), 'wal_level', 'max_wal_size', 'checkpoint_timeout'],
  ...['autovacuum', 'autovacuum_naptime', 'work_mem', 'jit', 'data_checksums', 'io_method'],
];

/** The benchmark's own PostgreSQL. */
export class PostgresServer {
  readonly #url: string;
  readonly #dataDir: string;
  readonly #stop: () => Promise<void>;
  #client: Client;
  #pid: number;

  /** @param changes settings that replace those of the benchmark */
  static async start(changes: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
    await removeOldRuns('tarefa-bench-');
    const dataDir = await mkdtemp(join(tmpdir(), `tarefa-bench-${process.pid}-`));
    // Under root the server is another user, who must reach it.
    await chmod(dataDir, 0o755);
    const remove = (): Promise<void> => rm(dataDir, { recursive: true, force: true });
    const server = await startEmbeddedPostgres({ dataDir, settings: { ...settings, ...changes } }).catch(
      async (error: unknown) => {
        await remove();
        throw error;
      },
    );
    const stop = async (): Promise<void> => {
      await server.stop();
      await remove();
    };
    try {
      const client = await connect(server.url);
      await client.query('create extension if not exists pg_stat_statements');
      const { rows } = await client.query<{ file: string }>(`select pg_read_file('postmaster.pid') as file`);
      const pid = Number(rows[0]?.file.split('\n')[0]);
      return new PostgresServer(server.url, server.dataDir, client, pid, stop);
    } catch (error) {
      await stop();
      throw error;
    }
  }

  private constructor(url: string, dataDir: string, client: Client, pid: number, stop: () => Promise<void>) {
    this.#url = url;
    this.#dataDir = dataDir;
    this.#client = client;
    this.#pid = pid;
    this.#stop = stop;
  }

  /** Process id of the server's main process. */
  get pid(): number {
    return this.#pid;
  }

  /** Stops the server; its data and its address stay. */
  async shutDown(): Promise<void> {
    await this.#client.end();
    await stopProcess(this.#dataDir);
  }

  /** Starts it after that. */
  async startAgain(): Promise<void> {
    this.#pid = await startProcess(this.#dataDir, this.#url);
    this.#client = await connect(this.#url);
  }

  /** As the server says itself. */
  async settings(): Promise<Record<string, string>> {
    const rows = await this.query<{ name: string; value: string }>(
      'select name, current_setting(name) as value from pg_settings where name = any($1)',
      [shownSettings],
    );
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  }

  async createDatabase(name: string): Promise<string> {
    await this.query(`create database ${name}`);
    const address = new URL(this.#url);
    address.pathname = `/${name}`;
    return address.href;
  }

  /** From now on statements of new connections to this database are counted. */
  async countStatements(database: string): Promise<void> {
    await this.query(`alter database ${database} set compute_query_id = on`);
    await this.query(`alter database ${database} set pg_stat_statements.track = top`);
  }

  /** Ends what is still connected. */
  async dropDatabase(name: string): Promise<void> {
    await this.query(`drop database if exists ${name} with (force)`);
  }

  /** Asks on a connection to another database than the measured ones. */
  async query<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#client.query(sql, values)).rows as Row[];
  }

  async stop(): Promise<void> {
    await this.#client.end();
    await this.#stop();
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // What ends this connection is told by the next question.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
