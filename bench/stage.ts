import { Client } from 'pg';
import { compiledFolder } from './folders.js';
import type { Peer } from './peers.js';
import { Crew } from './processes/crew.js';
import { NestProcess } from './processes/nest-process.js';
import { Meter } from './servers/meter.js';
import type { PostgresServer } from './servers/postgres-server.js';
import type { RedisServer } from './servers/redis-server.js';

/** Where stages are set up. */
export interface StageParts {
  readonly postgres: PostgresServer;
  readonly redis: RedisServer | undefined;
  readonly peer: Peer;
  /** The Node.js that runs the peer's processes. */
  readonly node: string;
  /** Address of the adapter's module. */
  readonly adapter: string;
  readonly topics: number;
  readonly payloadBytes: number | undefined;
}

let stages = 0;

/** What one run happens on: a new database, and the processes that use it. */
export class Stage extends Crew {
  readonly peer: Peer;
  readonly meter: Meter;
  readonly #parts: StageParts;
  readonly #database: string;
  readonly #url: string;

  static async open(parts: StageParts): Promise<Stage> {
    stages += 1;
    const database = `bench_${stages}`;
    const url = await parts.postgres.createDatabase(database);
    const stage = new Stage(parts, database, url);
    try {
      await stage.sql('create table effect (id bigint generated always as identity primary key, task int)');
      await stage.setUp();
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  private constructor(parts: StageParts, database: string, url: string) {
    const { node, adapter, redis, peer, topics, payloadBytes } = parts;
    super(node, adapter, {
      database: url,
      redisPort: redis?.port,
      setting: peer.setting,
      topics,
      ...(payloadBytes === undefined ? {} : { payloadBytes }),
    });
    this.#parts = parts;
    this.peer = peer;
    this.#database = database;
    this.#url = url;
    this.meter = new Meter(parts.postgres, redis, database);
  }

  /** Runs SQL in the measured database on a connection of its own. */
  async sql<Row>(text: string): Promise<Row[]> {
    const client = new Client({ connectionString: this.#url });
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** What a database that has been up for a while looks like: statistics known, nothing left to be written. */
  async settle(): Promise<void> {
    await this.sql('vacuum analyze');
    await this.sql('checkpoint');
  }

  /** Holds a snapshot until the returned function is called. */
  async holdSnapshot(): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: this.#url });
    await client.connect();
    await client.query('begin isolation level repeatable read');
    await client.query('select count(*) from effect');
    return async () => {
      await client.query('rollback');
      await client.end();
    };
  }

  /** Starts a small Nest application with the queue in it. */
  async startApplication(role: 'producer' | 'worker'): Promise<NestProcess> {
    const { node, peer, redis } = this.#parts;
    const library = new URL('../lib/index.js', compiledFolder).href;
    const redisPort = String(redis?.port ?? '');
    const args = [peer.product, peer.setting, role, this.#url, redisPort, library];
    const application = await NestProcess.start(node, args);
    this.adopt(application);
    return application;
  }

  async countStatements(): Promise<void> {
    await this.#parts.postgres.countStatements(this.#database);
  }

  async close(): Promise<void> {
    await this.endProcesses();
    await this.#parts.postgres.dropDatabase(this.#database);
  }
}
