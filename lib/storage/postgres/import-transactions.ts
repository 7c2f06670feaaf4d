import type { PoolClient } from 'pg';
import { TarefaError } from '../../errors.js';
import type { TaskInserts } from '../inserts.js';
import type { SqlHandle } from '../sql-handle.js';
import { ownHandle, type OwnPool } from './connections/own-pool.js';
import { quoteLiteral } from './identifiers.js';
import { insertsSetting } from './statement.js';
import type { NumberedTask, Refusal, TaskImportTransactions } from '../task-import.js';

/** {@link TaskImportTransactions} on one connection of a pool. */
export class PostgresImportTransactions implements TaskImportTransactions {
  readonly #pool: OwnPool;
  readonly #client: PoolClient;
  readonly #handle: SqlHandle;
  readonly #inserts: TaskInserts;
  readonly #ring: () => void;
  readonly #begin: string;
  #open = false;

  /**
   * @param queue quoted
   * @param ring for what was committed: a notification in the transaction could be refused, and with it everything
   */
  static async open(
    pool: OwnPool,
    queue: string,
    inserts: TaskInserts,
    ring: () => void,
  ): Promise<PostgresImportTransactions> {
    return new PostgresImportTransactions(pool, await pool.connect(), queue, inserts, ring);
  }

  private constructor(
    pool: OwnPool,
    client: PoolClient,
    queue: string,
    inserts: TaskInserts,
    ring: () => void,
  ) {
    this.#pool = pool;
    this.#client = client;
    this.#handle = ownHandle(client);
    this.#inserts = inserts;
    this.#ring = ring;
    this.#begin = `begin; set local ${insertsSetting} = ${quoteLiteral(queue)}`;
  }

  async insert(tasks: readonly NumberedTask[]): Promise<readonly string[] | Refusal> {
    if (!this.#open) await this.#handle.query(this.#begin);
    this.#open = true;
    try {
      return await this.#inserts.insertMany(
        tasks.map(({ task }) => task),
        this.#handle,
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.rollback();
      return await this.#findRefused(tasks, error.message);
    }
  }

  async commit(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    const { rows } = await this.#handle.query('select pg_current_xact_id()::text as id');
    try {
      await this.#handle.query('commit');
    } catch (error) {
      if (isServerError(error)) throw error;
      await this.#makeSureOf(rows[0]?.['id'], error);
    }
    this.#ring();
  }

  async rollback(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.query('rollback').catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.rollback();
    this.#client.release(true);
  }

  /** Tries halves of them, in a transaction that is undone, until one is left that is refused by itself. */
  async #findRefused(tasks: readonly NumberedTask[], message: string): Promise<Refusal> {
    let found = tasks;
    let said = message;
    await this.#handle.query('begin');
    try {
      while (found.length > 1) {
        const half = Math.ceil(found.length / 2);
        const parts = [found.slice(0, half), found.slice(half)];
        const refused = await this.#firstRefused(parts);
        // Together they are refused, one by one they are not: the rule is about more than one row.
        if (!refused) break;
        [found, said] = [refused.part, refused.message];
      }
    } finally {
      await this.#handle.query('rollback').catch(() => undefined);
    }
    return { first: found[0]?.line ?? 0, last: found.at(-1)?.line ?? 0, message: said };
  }

  async #firstRefused(
    parts: readonly (readonly NumberedTask[])[],
  ): Promise<{ readonly part: readonly NumberedTask[]; readonly message: string } | undefined> {
    for (const part of parts) {
      await this.#handle.query('savepoint part');
      try {
        await this.#inserts.insertMany(
          part.map(({ task }) => task),
          this.#handle,
        );
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return { part, message: error.message };
      } finally {
        await this.#handle.query('rollback to savepoint part').catch(() => undefined);
      }
    }
    return undefined;
  }

  /** The answer to a COMMIT was lost: another connection knows what became of it. */
  async #makeSureOf(transaction: unknown, cause: unknown): Promise<void> {
    const status = await this.#pool
      .query<{ status: string | null }>('select pg_xact_status($1::text::xid8) as status', [transaction])
      .then(({ rows }) => rows[0]?.status)
      .catch(() => undefined);
    if (status === 'committed') return;
    const what =
      status === 'aborted'
        ? 'it was not committed'
        : 'whether it was committed is unknown: look for its tasks before inserting them again';
    throw new TarefaError(
      'CONNECTION_LOST',
      `the connection was lost at the end of the transaction; ${what}`,
      {
        cause,
      },
    );
  }
}

/** The database answered: the connection is well, the statement was not. */
function isServerError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'severity' in error && 'code' in error && typeof error.code === 'string';
}

/** What rows cause: data that does not fit, a constraint, an exception of a trigger. */
function isRefusal(error: unknown): error is Error {
  return isServerError(error) && /^(22|23|P0|44)/.test(error.code);
}
