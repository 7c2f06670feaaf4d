import { setTimeout as pause } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import type { Lender } from '../connections/own-pool.js';
import { processIdOf } from '../connections/pooler.js';
import { refuseUnfitServer } from '../schema/server.js';
import { describeHolders, describeSession } from './lock-holders.js';
import { migrationLockKey, schemaLockKey } from './schema-locks.js';

/** What lends a session its connection, and answers what others do meanwhile. */
type SchemaPool = Lender & SqlHandle;

/** How a {@link SchemaSession} works; everything has a default. */
export interface SchemaSessionOptions {
  /** Longest wait for a lock, behind which other sessions queue. Default 2,000 ms. */
  readonly lockTimeoutMs?: number;
  /** How often such a step is tried. Default 60. */
  readonly attempts?: number;
  /** Longest pause between two tries; each is between half of it and all of it. Default 3,000 ms. */
  readonly pauseMs?: number;
  /** Ends what is under way. */
  readonly signal?: AbortSignal | undefined;
  /** Told what is waited for. */
  readonly onWait?: (text: string) => void;
  /** Told how far a long statement is. */
  readonly onProgress?: (progress: StatementProgress) => void;
}

/** How far a long statement is. */
export interface StatementProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
}

/** Waiting for a lock, and two that wait for each other. */
const worthTrying = new Set(['55P03', '40P01']);
const turnMs = 500;
const progressMs = 1_000;

/**
 * One connection that changes tables while others use them. Statements that lock others out are short, wait little for
 * their locks and are tried again; long statements lock no one out.
 */
export class SchemaSession implements SqlHandle {
  readonly #pool: SchemaPool;
  readonly #client: PoolClient;
  readonly #options: SchemaSessionOptions;
  readonly #cancel: () => void;

  private constructor(pool: SchemaPool, client: PoolClient, options: SchemaSessionOptions) {
    this.#pool = pool;
    this.#client = client;
    this.#options = options;
    this.#cancel = () =>
      void pool.query('select pg_cancel_backend($1::int)', [processIdOf(client)]).catch(() => undefined);
    options.signal?.addEventListener('abort', this.#cancel);
    // A connection that ends is noticed by the statement that is under way, or the next one.
    client.on('error', () => undefined);
  }

  /**
   * @throws {TarefaError} `SCHEMA_CONFLICT` behind a pooler, which shares connections between clients; `OPTIONS_INVALID` for a
   * server that is too old, or none of PostgreSQL's
   */
  static async open(pool: SchemaPool, options: SchemaSessionOptions = {}): Promise<SchemaSession> {
    const client = await pool.connect();
    const session = new SchemaSession(pool, client, options);
    try {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      if (rows[0]?.pid !== processIdOf(client)) {
        throw new TarefaError(
          'SCHEMA_CONFLICT',
          'tables are changed under session locks, but this connection goes through a pooler: give the address of PostgreSQL itself',
        );
      }
      await refuseUnfitServer(client);
      // A limit of the role's would end the building of an index, and a policy would hide rows from it. What reads a whole table
      // once gains nothing by compiling.
      await client.query(`
        set statement_timeout = 0;
        set idle_in_transaction_session_timeout = 0;
        set lock_timeout = 0;
        select set_config('transaction_timeout', '0', false) where current_setting('server_version_num')::int >= 170000;
        set default_transaction_isolation = 'read committed';
        set row_security = off;
        set jit = off;
        set work_mem = '64MB';
        set application_name = 'tarefa migration'`);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  async query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    this.#options.signal?.throwIfAborted();
    return this.#client.query<Record<string, unknown>>(text, values);
  }

  /** Waits until no other session changes these tables, and keeps others from doing so until this one is closed. */
  async takeTurn(tables: QueueTables): Promise<void> {
    for (let isSaid = false; ; isSaid = true) {
      const { rows } = await this.query(`select pg_try_advisory_lock(${migrationLockKey(tables)}) as mine`);
      if (rows[0]?.['mine'] === true) return;
      if (!isSaid) {
        this.#options.onWait?.(
          `another session is changing ${tables.qualifiedName}: waiting until it has finished`,
        );
      }
      await pause(turnMs, undefined, { signal: this.#options.signal });
    }
  }

  /**
   * Runs work in a transaction that waits little for locks, and tries again when it did not get them. Starts that make
   * tables take turns with it.
   *
   * @param what for messages
   * @param table whose locks are waited for
   */
  async short<T>(what: string, table: string, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    const { attempts = 60, pauseMs = 3_000, lockTimeoutMs = 2_000 } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#inTransaction(lockTimeoutMs, work);
      } catch (error) {
        if (!worthTrying.has(String((error as { code?: unknown }).code))) throw error;
        const holders = await describeHolders(this, table);
        const seen = `${what} is waiting for a lock on ${table}${holders === '' ? '' : `, which is used by ${holders}`}`;
        if (attempt >= attempts) {
          throw new TarefaError(
            'SCHEMA_BUSY',
            `${seen}: gave up after ${attempts} tries. Completed steps stay; run the command again when the table is less busy`,
            { cause: error },
          );
        }
        this.#options.onWait?.(seen);
        await pause(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: this.#options.signal });
      }
    }
  }

  /** Runs one statement outside of a transaction, however long it takes, and tells how far it is. */
  async alone(text: string): Promise<void> {
    const watching = new AbortController();
    const watched = this.#watch(watching.signal);
    try {
      await this.query(text);
    } finally {
      watching.abort();
      await watched;
    }
  }

  /** Releases the lock and the connection. */
  async close(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#cancel);
    await this.#client.query('select pg_advisory_unlock_all()').catch(() => undefined);
    // Its settings must not reach another user of the connection.
    this.#client.release(true);
  }

  async #inTransaction<T>(lockTimeoutMs: number, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    await this.query('begin');
    try {
      await this.query(`set local lock_timeout = ${lockTimeoutMs}`);
      await this.query(`select pg_advisory_xact_lock(${schemaLockKey})`);
      const result = await work(this);
      await this.query('commit');
      return result;
    } catch (error) {
      await this.#client.query('rollback').catch(() => undefined);
      throw error;
    }
  }

  /** Looks from another connection. */
  async #watch(ended: AbortSignal): Promise<void> {
    let awaited: number | undefined;
    for (;;) {
      await pause(progressMs, undefined, { signal: ended }).catch(() => undefined);
      if (ended.aborted) return;
      const { rows } = await this.#pool
        .query(
          `select phase, blocks_done::float8 as done, blocks_total::float8 as total, current_locker_pid as locker
           from pg_stat_progress_create_index where pid = $1::int`,
          [processIdOf(this.#client)],
        )
        .catch(() => ({ rows: [] }));
      const [row] = rows;
      if (!row) continue;
      const progress = {
        phase: String(row['phase']),
        done: Number(row['done']),
        total: Number(row['total']),
      };
      this.#options.onProgress?.(progress);
      const locker = Number(row['locker'] ?? 0);
      if (locker !== 0 && locker !== awaited) {
        awaited = locker;
        const session = await describeSession(this.#pool, locker).catch(() => `session ${locker}`);
        this.#options.onWait?.(`the index is waiting for the end of the transaction of ${session}`);
      }
    }
  }
}
