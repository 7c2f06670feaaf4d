import type { PoolClient } from 'pg';
import { TarefaError } from '../errors.js';
import { isConnectionError } from '../storage/postgres/connections/connection-config.js';
import type { Task } from '../task.js';
import type { DoneStatements } from './done-table.js';
import { guardedClient } from './guarded-client.js';
import type { Once, OnceOptions, TenantAnswer, TenantDb, TenantSql } from './tenant-db.js';
import { messageOf, unavailable, usedAfterEnd } from './tenant-error.js';
import type { TenantLease } from './tenant-lease.js';

/** What a handle needs to know of its task. */
export type DoneTask = Pick<Task, 'key' | 'dead'>;

const undefinedTable = '42P01';

/** One attempt's connection to its tenant's database. */
export class TenantHandle implements TenantDb {
  readonly #lease: TenantLease;
  readonly #task: DoneTask;
  readonly #statements: DoneStatements;
  #ended = false;
  /** True when the connection is not to be used any more, also by statements that wait for their turn. */
  #left = false;
  #inTransaction = false;
  /** Settles with the statement sent last: one at a time is on its way. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** What failed of the statements that nobody waited for when the handler ended. */
  #late: { readonly error: unknown } | undefined;

  constructor(lease: TenantLease, task: DoneTask, statements: DoneStatements) {
    this.#lease = lease;
    this.#task = task;
    this.#statements = statements;
  }

  get tenant(): string {
    return this.#lease.tenant;
  }

  query(text: string, values?: unknown[]): Promise<TenantAnswer> {
    return owned(this.#query(text, values));
  }

  transaction<T>(work: (tx: TenantSql) => Promise<T>): Promise<T> {
    return owned(this.#transact('begin', work));
  }

  once<T>(work: (tx: TenantSql) => Promise<T>, { step = '' }: OnceOptions = {}): Promise<Once<T>> {
    // So that whoever marks the same at the same time is waited for, and its mark is seen then.
    const begin = 'begin isolation level read committed';
    return owned(
      this.#transact(begin, async (tx) => {
        const isFirst = await this.#mark(tx, step);
        return isFirst ? { ran: true, value: await work(tx) } : { ran: false };
      }),
    );
  }

  client(): Promise<PoolClient> {
    if (this.#ended) return owned(Promise.reject(usedAfterEnd()));
    return Promise.resolve(guardedClient(this.#lease.client, () => this.#ended));
  }

  /**
   * The handler has returned: its statements are waited for, and the connection goes back.
   *
   * @throws {TarefaError} `TRANSACTION_BROKEN` when a transaction was left open, and what was sent last and failed
   */
  async finish(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.#last;
    // The handler was told already of a connection that has failed.
    const isGone = this.#lease.gone;
    const isSettled = await this.#lease.settled();
    const isIdle = this.#lease.idle;
    this.quit();
    if (this.#late) throw this.#late.error;
    if (isIdle || isGone) return;
    throw new TarefaError(
      'TRANSACTION_BROKEN',
      `the handler ended with ${isSettled ? 'an open transaction' : 'a statement under way'} in the database of tenant ` +
        `${this.tenant}, which was rolled back: commit it, or use ctx.tenantDb().transaction()`,
    );
  }

  /** The handler has failed: what it left open is rolled back. Never throws. */
  quit(): void {
    this.#ended = true;
    this.#left = true;
    void this.#lease.giveBack();
  }

  /** The attempt is over while its handler goes on: the connection is cut. */
  abandon(reason: Error): void {
    this.#ended = true;
    this.#left = true;
    this.#lease.destroy(reason);
  }

  async #query(text: string, values?: unknown[]): Promise<TenantAnswer> {
    if (this.#ended) throw usedAfterEnd();
    if (this.#inTransaction) throw this.#besideTransaction('query');
    return this.#send(text, values);
  }

  async #transact<T>(begin: string, work: (tx: TenantSql) => Promise<T>): Promise<T> {
    if (this.#ended) throw usedAfterEnd();
    if (this.#inTransaction) throw this.#besideTransaction('transaction');
    this.#inTransaction = true;
    let isOver = false;
    const tx: TenantSql = {
      query: (text, values) =>
        owned(isOver || this.#ended ? Promise.reject(usedAfterEnd()) : this.#send(text, values)),
    };
    try {
      await this.#send(begin);
      const value = await work(tx);
      isOver = true;
      await this.#last;
      await this.#commit();
      return value;
    } catch (error) {
      isOver = true;
      await this.#rollback();
      throw error;
    } finally {
      this.#inTransaction = false;
    }
  }

  async #commit(): Promise<void> {
    if (this.#ended) throw usedAfterEnd();
    const { command } = await this.#send('commit');
    if (command === 'COMMIT') return;
    throw new TarefaError(
      'TRANSACTION_BROKEN',
      `a statement in the database of tenant ${this.tenant} failed and its error was swallowed, so the transaction ` +
        `was rolled back; let database errors leave the work`,
    );
  }

  /** An error of its own says nothing new: a connection that is not idle then is not given to anybody. */
  async #rollback(): Promise<void> {
    if (this.#ended || this.#lease.idle) return;
    await this.#send('rollback').catch(() => undefined);
  }

  async #mark(tx: TenantSql, step: string): Promise<boolean> {
    const { key, dead } = this.#task;
    try {
      // A dead task has the key of the task that died, and work of its own.
      const { rowCount } = await tx.query(this.#statements.mark, [dead ? `${key} dead` : key, step]);
      return rowCount === 1;
    } catch (error) {
      if ((error as { code?: unknown }).code !== undefinedTable) throw error;
      throw new TarefaError(
        'SCHEMA_MISSING',
        `the database of tenant ${this.tenant} has no table for once(): make it by ` +
          `TenantDatabases.createDedupTable('${this.tenant}')`,
        { cause: error },
      );
    }
  }

  /** Statements wait for each other here: the driver's own queue is deprecated. */
  #send(text: string, values?: unknown[]): Promise<TenantAnswer & { readonly command: string }> {
    const { client } = this.#lease;
    const answer = this.#last.then(() => {
      if (this.#left) throw usedAfterEnd();
      return client.query<Record<string, unknown>>(text, values);
    });
    const told = answer.catch((error: unknown) => {
      throw this.#explain(error);
    });
    this.#last = told.catch((error: unknown) => {
      if (this.#ended) this.#late ??= { error };
    });
    return told;
  }

  /** A connection whose answer never came is of no use any more. */
  #explain(error: unknown): unknown {
    const isLate = error instanceof Error && error.message === 'Query read timeout';
    if (!isLate && !isConnectionError(error)) return error;
    this.#lease.destroy(error as Error);
    const reason = isLate ? 'no answer within tenantDatabases.queryTimeoutMs' : messageOf(error);
    return unavailable(`the database of tenant ${this.tenant} failed: ${reason}`, error);
  }

  #besideTransaction(what: string): TarefaError {
    return new TarefaError(
      'TRANSACTION_BROKEN',
      `${what}() was called on the database of tenant ${this.tenant} while transaction() was open on it: use the tx ` +
        `that it gives`,
    );
  }
}

/** A promise whose error does not end the process when a handler forgets to wait for it. */
function owned<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
