import type { PoolClient } from 'pg';
import { GroupBroken, RingRefused, type GroupedTransaction, type TaskGroup } from '../transactions.js';
import { type Completion } from '../attempt.js';
import { withAnswerLimit } from './connections/control-connection.js';
import { beginHandler } from './connections/connection-config.js';
import { ownHandle, asQuery } from './connections/own-pool.js';
import { inOneFlight } from './one-flight.js';
import { PostgresGroupPart, failureOf, type GroupOfParts } from './postgres-group-part.js';
import { terminateBackend } from './connections/backend.js';
import type { PostgresTransactionParts } from './postgres-transaction.js';
import { takeRelease } from './connections/take-release.js';
import { isRingRefused } from './connections/without-ring.js';

/** Before the completions: their plan must not be one for an empty table. Behind them is only COMMIT. */
export const completionSettings =
  'set local enable_seqscan = off; set local enable_bitmapscan = off; set local plan_cache_mode = force_generic_plan';

/** Subtransactions beyond 64 make a transaction slow for all sessions. */
const mostTasks = 50;

/**
 * Several tasks' transaction on one connection of the pool. Nothing waits for an answer but the handlers: the savepoint
 * of a task travels with its first statement, and all completions with COMMIT. So a handler that writes one row
 * costs one round trip.
 */
export class PostgresGroup implements TaskGroup, GroupOfParts {
  readonly most = mostTasks;
  readonly #parts: PostgresTransactionParts;
  /** Settles when the transaction has ended: resolves when it has committed. */
  readonly ended: Promise<void>;
  #settle!: { readonly resolve: () => void; readonly reject: (failure: Error) => void };
  #client: Promise<PoolClient> | undefined;
  #connected: PoolClient | undefined;
  /** Gives its connection back. */
  #giveBack: ((error?: Error) => void) | undefined;
  #id: Promise<string> | undefined;
  #failure: Error | undefined;
  #committed = false;
  /** Why the connection is not worth keeping, though its transaction is. */
  #unfit: Error | undefined;
  #savepoints = 0;
  /** The savepoint of the task before, which ends when the next one begins. */
  #past: string | undefined;
  readonly #completions: Completion[] = [];

  /** @param parts `complete` completes many, or raises an error */
  constructor(parts: PostgresTransactionParts) {
    this.#parts = parts;
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ended.catch(ignore);
  }

  get broken(): boolean {
    return this.#failure !== undefined;
  }

  /** Why it ended badly: {@link GroupBroken} when a task is at fault, {@link RingRefused}, or the connection's error. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  next(): GroupedTransaction {
    return new PostgresGroupPart(this);
  }

  async commit(): Promise<void> {
    const client = await this.#client?.catch(ignore);
    if (!client || this.#failure) return;
    if (this.#completions.length === 0) return this.#rollback(client);
    const [completed, committed] = await withAnswerLimit(client, this.#sendEnd(client));
    const error = completed.status === 'rejected' ? completed.reason : undefined;
    if (committed.status === 'rejected') this.fail(refusalOf(committed.reason));
    else if (error === undefined && committed.value.command === 'COMMIT') this.#succeed();
    else this.fail(failureOf(error));
  }

  /** The client inside the transaction. The first call opens it; BEGIN travels with the first statement. */
  connect(): Promise<PoolClient> {
    if (!this.#client) {
      this.#client = this.#begin();
      this.#client.catch((error: unknown) => this.fail(error as Error));
    }
    return this.#client;
  }

  /** Sets the next task's savepoint; returns its name. Should it fail, the statements behind it fail as well. */
  begin(client: PoolClient): string {
    this.#savepoints += 1;
    const savepoint = `tarefa_${this.#savepoints}`;
    const release = this.#past === undefined ? '' : `release savepoint ${this.#past}; `;
    this.#past = savepoint;
    inOneFlight(client);
    // A savepoint that is gone tells that a handler has ended the transaction and begun another.
    client
      .query(`${release}savepoint ${savepoint}`)
      .catch((error: unknown) => this.fail(failureOf(error), 'ask'));
    return savepoint;
  }

  /** Its work is done: it is completed with the others. */
  add(completion: Completion): void {
    this.#completions.push(this.#parts.texts?.completion(completion) ?? completion);
  }

  /**
   * Ends it badly; the first reason counts. The connection is cut: whatever was sent meanwhile must not take effect,
   * and a handler may still be using it.
   *
   * @param fate whether what was done before is undone; `ask` when a handler may have committed it
   */
  fail(failure: Error, fate: 'undone' | 'ask' = 'undone'): void {
    if (this.#failure || this.#committed) return;
    this.#failure = failure;
    const client = this.#connected;
    this.#connected = undefined;
    if (client) {
      this.#giveBack?.(failure);
      terminateBackend(client, this.#parts.pool);
    }
    if (fate === 'undone') this.#settle.reject(failure);
    else void this.#askFate(failure).then(this.#settle.reject, this.#settle.reject);
  }

  /** After its transaction the connection is replaced. */
  replace(reason: Error): void {
    this.#unfit = reason;
  }

  async #begin(): Promise<PoolClient> {
    const { pool, reach } = this.#parts;
    const client = await pool.connect(Infinity);
    if (this.#failure) {
      client.release();
      throw this.#failure;
    }
    this.#connected = client;
    this.#giveBack = takeRelease(client);
    inOneFlight(client);
    client.query(beginHandler(reach)).catch((error: unknown) => this.fail(error as Error));
    this.#id = ownHandle(client)
      .query('select pg_current_xact_id()::text as id')
      .then(({ rows }) => (rows[0]?.['id'] ?? '') as string);
    this.#id.catch(ignore);
    return client;
  }

  /** The completions raise an error when an attempt is no longer this worker's: COMMIT is on its way already. */
  #sendEnd(
    client: PoolClient,
  ): Promise<[PromiseSettledResult<unknown>, PromiseSettledResult<{ command: string }>]> {
    const { complete, reach, workerId } = this.#parts;
    inOneFlight(client);
    client.query(completionSettings).catch(ignore);
    const completing = client.query(
      asQuery(complete, reach, [
        this.#completions.map(({ id }) => id),
        workerId,
        this.#completions.map(({ reservation }) => reservation),
        this.#completions.map(({ message }) => message),
        this.#completions.map(({ result }) => result),
      ]),
    );
    return Promise.allSettled([completing, client.query('commit')]);
  }

  async #rollback(client: PoolClient): Promise<void> {
    await withAnswerLimit(client, client.query('rollback')).then(
      () => this.#succeed(),
      (error: unknown) => this.fail(failureOf(error)),
    );
  }

  #succeed(): void {
    if (this.#failure) return;
    this.#committed = true;
    this.#connected = undefined;
    this.#giveBack?.(this.#unfit);
    this.#settle.resolve();
  }

  async #askFate(failure: Error): Promise<Error> {
    const { rows } = await this.#parts.pool.query<{ status: string | null }>(
      'select pg_xact_status($1::text::xid8) as status',
      [await this.#id],
    );
    return rows[0]?.status === 'committed'
      ? new GroupBroken(failure.message, { cause: failure, kept: true })
      : failure;
  }
}

/** Why its commit was refused. */
function refusalOf(error: unknown): Error {
  return isRingRefused(error)
    ? new RingRefused('its notification was refused', { cause: error })
    : failureOf(error);
}

function ignore(): void {}
