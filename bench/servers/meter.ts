import { setTimeout as pause } from 'node:timers/promises';
import { familyCpuSeconds, machineCpuSeconds } from './proc.js';
import type { PostgresServer } from './postgres-server.js';
import type { RedisServer } from './redis-server.js';

/** What the servers used between two moments; undefined where it cannot be read. */
export interface Usage {
  readonly postgresCpuSeconds: number | undefined;
  readonly redisCpuSeconds: number | undefined;
  /** Of the whole machine, the benchmark and everything else included. */
  readonly machineCpuSeconds: number | undefined;
  readonly walBytes: number;
}

/** How long connections of killed processes may take to end. */
const leaveLimitMs = 15_000;

/** Reads what the servers use for one measured database. */
export class Meter {
  readonly #postgres: PostgresServer;
  readonly #redis: RedisServer | undefined;
  readonly #database: string;

  constructor(postgres: PostgresServer, redis: RedisServer | undefined, database: string) {
    this.#postgres = postgres;
    this.#redis = redis;
    this.#database = database;
  }

  /** Totals since the servers' start. */
  async read(): Promise<Usage> {
    const [row] = await this.#postgres.query<{ wal: string }>(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`,
    );
    return {
      postgresCpuSeconds: familyCpuSeconds(this.#postgres.pid),
      redisCpuSeconds: this.#redis && familyCpuSeconds(this.#redis.pid),
      machineCpuSeconds: machineCpuSeconds(),
      walBytes: Number(row?.wal),
    };
  }

  /**
   * Commits in the measured database so far. Backends tell what they did a second late, or when they end: call it
   * when their clients are gone.
   */
  async commits(): Promise<number> {
    const until = performance.now() + leaveLimitMs;
    while ((await this.#backends()) > 0 && performance.now() < until) await pause(5);
    const [row] = await this.#postgres.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = $1',
      [this.#database],
    );
    return Number(row?.commits);
  }

  /** Statements run in the measured database so far. */
  async statements(): Promise<number> {
    const [row] = await this.#postgres.query<{ calls: string }>(
      `select coalesce(sum(calls), 0) as calls from pg_stat_statements s
       join pg_database d on d.oid = s.dbid where d.datname = $1`,
      [this.#database],
    );
    return Number(row?.calls);
  }

  async #backends(): Promise<number> {
    const [row] = await this.#postgres.query<{ count: string }>(
      `select count(*) as count from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
      [this.#database],
    );
    return Number(row?.count);
  }
}

/** What was used between two readings. */
export function usageBetween(before: Usage, after: Usage): Usage {
  return {
    postgresCpuSeconds: minus(after.postgresCpuSeconds, before.postgresCpuSeconds),
    redisCpuSeconds: minus(after.redisCpuSeconds, before.redisCpuSeconds),
    machineCpuSeconds: minus(after.machineCpuSeconds, before.machineCpuSeconds),
    walBytes: after.walBytes - before.walBytes,
  };
}

function minus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b;
}
