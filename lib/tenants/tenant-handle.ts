import { TarefaError } from '../errors.js';
import type { DriverClient } from '../storage/driver-client.js';
import type { Task } from '../task.js';
import type { TenantConnection } from './tenant-connection.js';
import type { Once, OnceOptions, TenantAnswer, TenantDb, TenantSql } from '../storage/tenant-db.js';
import { usedAfterEnd } from './tenant-error.js';

/** What a handle needs to know of its task. */
export type DoneTask = Pick<Task, 'key' | 'dead'>;

/** One attempt's connection to its tenant's database. */
export class TenantHandle implements TenantDb {
  readonly #connection: TenantConnection;
  readonly #task: DoneTask;
  #ended = false;
  /** True when the connection is not to be used any more, also by statements that wait for their turn. */
  #left = false;
  #inTransaction = false;
  /** Settles with the statement sent last: one at a time is on its way. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  /** What failed of the statements that the handler did not wait for. */
  #late: { readonly error: unknown } | undefined;

  constructor(connection: TenantConnection, task: DoneTask) {
    this.#connection = connection;
    this.#task = task;
  }

  get tenant(): string {
    return this.#connection.tenant;
  }

  query<Row>(text: string, values?: unknown[]): Promise<TenantAnswer<Row>> {
    return owned(this.#query(text, values)) as Promise<TenantAnswer<Row>>;
  }

  transaction<T>(work: (tx: TenantSql) => Promise<T>): Promise<T> {
    return owned(this.#transact(() => this.#connection.begin(), work));
  }

  once<T>(work: (tx: TenantSql) => Promise<T>, { step = '' }: OnceOptions = {}): Promise<Once<T>> {
    const connection = this.#connection;
    const { key, dead } = this.#task;
    // A dead task has the key of the task that died, and work of its own.
    const doneKey = dead ? `${key} dead` : key;
    return owned(
      this.#transact(
        () => connection.beginOnce(),
        async (tx) => {
          if (this.#ended) throw usedAfterEnd();
          const isFirst = await this.#inTurn(() => connection.markDone(doneKey, step));
          return isFirst ? { ran: true, value: await work(tx) } : { ran: false };
        },
      ),
    );
  }

  client(): Promise<DriverClient> {
    if (this.#ended) return owned(Promise.reject(usedAfterEnd()));
    return Promise.resolve(this.#connection.client(() => this.#ended));
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
    const isGone = this.#connection.gone;
    const isSettled = await this.#connection.settled();
    const isIdle = this.#connection.idle;
    this.quit();
    if (this.#late) throw this.#late.error;
    if (isIdle || isGone) return;
    throw new TarefaError(
      'TRANSACTION_BROKEN',
      `the handler ended with ${isSettled ? 'an open transaction' : 'a statement still running'} in the database of tenant ` +
        `${this.tenant}, which was rolled back: commit it, or use ctx.tenantDb().transaction()`,
    );
  }

  /** The handler has failed: what it left open is rolled back. Never throws. */
  quit(): void {
    this.#ended = true;
    this.#left = true;
    void this.#connection.giveBack();
  }

  /** The attempt is over while its handler goes on: the connection is cut. */
  abandon(reason: Error): void {
    this.#ended = true;
    this.#left = true;
    this.#connection.destroy(reason);
  }

  async #query(text: string, values?: unknown[]): Promise<TenantAnswer> {
    if (this.#ended) throw usedAfterEnd();
    if (this.#inTransaction) throw this.#besideTransaction('query');
    return this.#inTurn(() => this.#connection.query(text, values));
  }

  async #transact<T>(begin: () => Promise<void>, work: (tx: TenantSql) => Promise<T>): Promise<T> {
    if (this.#ended) throw usedAfterEnd();
    if (this.#inTransaction) throw this.#besideTransaction('transaction');
    this.#inTransaction = true;
    let isOver = false;
    const tx = {
      query: (text: string, values?: unknown[]) =>
        owned(
          isOver || this.#ended
            ? Promise.reject(usedAfterEnd())
            : this.#inTurn(() => this.#connection.query(text, values)),
        ),
    };
    try {
      await this.#inTurn(begin);
      const value = await work(tx as TenantSql);
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
    if (await this.#inTurn(() => this.#connection.commit())) return;
    throw new TarefaError(
      'TRANSACTION_BROKEN',
      `a statement in the database of tenant ${this.tenant} failed and its error was swallowed, so the transaction ` +
        `was rolled back; let database errors propagate`,
    );
  }

  /** An error of its own says nothing new: a connection that is not idle then is not lent again. */
  async #rollback(): Promise<void> {
    if (this.#ended || this.#connection.idle) return;
    await this.#inTurn(() => this.#connection.rollback()).catch(() => undefined);
  }

  /** Statements wait for each other here: the driver's own queue is deprecated. */
  #inTurn<T>(send: () => Promise<T>): Promise<T> {
    const answer = this.#last.then(() => {
      if (this.#left) throw usedAfterEnd();
      return send();
    });
    this.#last = answer.catch((error: unknown) => {
      if (this.#ended) this.#late ??= { error };
    });
    return answer;
  }

  #besideTransaction(what: string): TarefaError {
    return new TarefaError(
      'TRANSACTION_BROKEN',
      `${what}() was called on the database of tenant ${this.tenant} while transaction() was open on it: use the tx ` +
        `that it passes`,
    );
  }
}

/** A promise whose error does not end the process when a handler forgets to wait for it. */
function owned<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
