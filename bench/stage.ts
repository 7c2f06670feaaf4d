import { Client } from 'pg';
import { compiledFolder } from './folders.js';
import type { Peer } from './peers.js';
import { BenchProcess } from './processes/bench-process.js';
import { NestProcess } from './processes/nest-process.js';
import type { HandlerKind } from './protocol.js';
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

/**
 * What one run happens on: a new database, one process that inserts and looks (the desk), and as many that work as
 * the scenario starts.
 */
export class Stage {
  readonly peer: Peer;
  readonly meter: Meter;
  readonly #parts: StageParts;
  readonly #database: string;
  readonly #url: string;
  readonly #processes: (BenchProcess | NestProcess)[] = [];
  #desk: BenchProcess | undefined;

  static async open(parts: StageParts): Promise<Stage> {
    stages += 1;
    const database = `bench_${stages}`;
    const url = await parts.postgres.createDatabase(database);
    const stage = new Stage(parts, database, url);
    try {
      await stage.sql('create table effect (id bigint generated always as identity primary key, task int)');
      await stage.desk.call('open', ...stage.#introduction());
      await stage.desk.call('setup');
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  private constructor(parts: StageParts, database: string, url: string) {
    this.#parts = parts;
    this.peer = parts.peer;
    this.#database = database;
    this.#url = url;
    this.meter = new Meter(parts.postgres, parts.redis, database);
  }

  /** The process that inserts and looks. */
  get desk(): BenchProcess {
    this.#desk ??= this.#spawn();
    return this.#desk;
  }

  /** Starts a process that does not work yet. */
  async addWorker(): Promise<Worker> {
    const process = await this.addProducer();
    return { process, work: (kind, target) => process.call('work', kind, target) };
  }

  /** Starts another process that inserts. */
  async addProducer(): Promise<BenchProcess> {
    const process = this.#spawn();
    await process.call('open', ...this.#introduction());
    return process;
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
    this.#processes.push(application);
    return application;
  }

  async countStatements(): Promise<void> {
    await this.#parts.postgres.countStatements(this.#database);
  }

  /** Ends all processes, by killing them: what they leave behind goes with the database. */
  async endProcesses(): Promise<void> {
    await Promise.all(this.#processes.splice(0).map((process) => process.kill()));
    this.#desk = undefined;
  }

  async close(): Promise<void> {
    await this.endProcesses();
    await this.#parts.postgres.dropDatabase(this.#database);
  }

  #spawn(): BenchProcess {
    const process = new BenchProcess(this.#parts.node);
    this.#processes.push(process);
    return process;
  }

  #introduction() {
    const { adapter, redis, peer, topics, payloadBytes } = this.#parts;
    const surroundings = {
      postgres: this.#url,
      redisPort: redis?.port,
      setting: peer.setting,
      topics,
      ...(payloadBytes === undefined ? {} : { payloadBytes }),
    };
    return [adapter, surroundings] as const;
  }
}

/** A process that works once it is told to. */
export interface Worker {
  readonly process: BenchProcess;
  /** Resolves when the worker runs; `target` as in `ChildCalls.work`. */
  readonly work: (kind: HandlerKind, target: number) => Promise<void>;
}
