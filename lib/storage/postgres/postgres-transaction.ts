import type { PoolClient } from 'pg';
import { TarefaError } from '../../errors.js';
import type { Completion } from '../attempt.js';
import { usedAfterEnd } from '../transaction-errors.js';
import { RingRefused, type ServerSession, type TaskTransaction } from '../transactions.js';
import { withAnswerLimit } from './connections/control-connection.js';
import { backendOf, terminateBackend } from './connections/backend.js';
import {
  beginHandler,
  isReadOnlyError,
  wrapConnectionError,
  type Reach,
} from './connections/connection-config.js';
import { type OwnPool, asQuery } from './connections/own-pool.js';
import { inOneFlight } from './one-flight.js';
import type { Statement } from './statement.js';
import type { StorableTexts } from './storable-texts.js';
import { takeRelease } from './connections/take-release.js';
import { isRingRefused } from './connections/without-ring.js';
import { brokenTransaction, explainRefusal } from './transaction-errors.js';

/** What a {@link PostgresTransaction} works with. */
export interface PostgresTransactionParts {
  readonly pool: OwnPool;
  /** What stands between the pool and the database. */
  readonly reach: Reach;
  readonly complete: Statement;
  readonly texts: StorableTexts | undefined;
  readonly workerId: string;
  /** Told where it runs. */
  readonly opened?: ((session: ServerSession) => void) | undefined;
  /** True for one in which nothing of ours rings. */
  readonly quiet?: boolean | undefined;
}

/**
 * One task's transaction on a connection of the pool. The first statement takes the connection and sends BEGIN
 * in the same flight; the completion and COMMIT travel together as well. So a handler that writes one row
 * costs two round trips, and one that never touches the database none.
 */
export class PostgresTransaction implements TaskTransaction {
  readonly #parts: PostgresTransactionParts;
  #client: Promise<PoolClient> | undefined;
  /** Gives the connection back; there from BEGIN on until then. */
  #giveBack: ((error?: Error) => void) | undefined;
  /** True when the attempt is over: the handler's late statements are refused. */
  #ended = false;
  /** First statement of the handler that failed: named when the handler swallowed it. */
  #firstError: unknown;
  /** Settles with the statement sent last; statements of one connection end in order. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: PostgresTransactionParts) {
    this.#parts = parts;
  }

  get opened(): boolean {
    return this.#client !== undefined;
  }

  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const answer = this.#run(text, values);
    answer.catch(ignore);
    return answer;
  }

  client(): Promise<PoolClient> {
    const client = this.#open();
    client.catch(ignore);
    return client;
  }

  async complete(completion: Completion): Promise<void> {
    const client = await this.#open();
    this.#ended = true;
    await this.#last;
    this.#refuseBroken(client);
    try {
      const { complete, texts, reach, workerId } = this.#parts;
      const { id, reservation, message, result } = texts?.completion(completion) ?? completion;
      inOneFlight(client);
      const completing = client.query(asQuery(complete, reach, [id, workerId, reservation, message, result]));
      const committing = client.query('commit');
      const answers = Promise.allSettled([completing, committing]);
      const [completed, committed] = await withAnswerLimit(client, answers);
      if (completed.status === 'rejected')
        throw explainRefusal(completed.reason, completion, this.#firstError);
      if (committed.status === 'rejected') throw this.#refusal(committed.reason);
      if (committed.value.command !== 'COMMIT') throw this.#broken();
      this.#release();
    } catch (error) {
      // Whatever failed, the state of this connection is not worth guessing.
      this.#release(error instanceof TarefaError ? undefined : (error as Error));
      throw wrapConnectionError(error, `the database did not confirm the end of attempt ${completion.id}`);
    }
  }

  async rollback(): Promise<void> {
    this.#ended = true;
    const client = await this.#client?.catch(() => undefined);
    if (!client || !this.#giveBack) return;
    try {
      await withAnswerLimit(client, client.query('rollback'));
      this.#release(isReadOnlyError(this.#firstError) ? (this.#firstError as Error) : undefined);
    } catch (error) {
      this.#release(error as Error);
    }
  }

  destroy(reason: Error): void {
    this.#ended = true;
    void this.#client?.then((client) => this.#cut(client, reason), ignore);
  }

  /** A server at work on a statement does not notice that its client is gone, and keeps its locks: it is told. */
  #cut(client: PoolClient, reason: Error): void {
    if (!this.#giveBack) return;
    this.#release(reason);
    terminateBackend(client, this.#parts.pool);
  }

  async #run(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const client = await this.#open();
    if (this.#ended) throw usedAfterEnd();
    return this.#sent(client.query(text, values));
  }

  #sent<T>(answer: Promise<T>): Promise<T> {
    // A handler that forgets to wait for an answer must not end the process: its transaction knows.
    this.#last = answer.then(ignore, (error: unknown) => void (this.#firstError ??= error));
    return answer;
  }

  #open(): Promise<PoolClient> {
    if (this.#ended) return Promise.reject(usedAfterEnd());
    this.#client ??= this.#begin();
    return this.#client;
  }

  async #begin(): Promise<PoolClient> {
    const { pool, reach, opened, quiet } = this.#parts;
    // It waits as long as the others need: a task that waits has not failed.
    const client = await pool.connect(Infinity);
    if (this.#ended) {
      client.release();
      throw usedAfterEnd();
    }
    this.#giveBack = takeRelease(client);
    if (opened) void backendOf(client).then((session) => session && opened(session));
    inOneFlight(client);
    // Not awaited: it travels with the first statement. Should it fail, that statement fails as well.
    void this.#sent(client.query(beginHandler(reach, quiet)));
    return client;
  }

  #refuseBroken(client: PoolClient): void {
    const status = client.getTransactionStatus();
    if (status !== 'T') throw this.#broken(status);
  }

  /** Of a commit. Without rings the same refusal is about something else. */
  #refusal(error: unknown): unknown {
    const isOfRing = !this.#parts.quiet && isRingRefused(error);
    return isOfRing ? new RingRefused('its notification was refused', { cause: error }) : error;
  }

  #broken(status: string | null = null): TarefaError {
    return brokenTransaction(status, this.#firstError);
  }

  #release(error?: Error): void {
    const giveBack = this.#giveBack;
    this.#giveBack = undefined;
    giveBack?.(error);
  }
}

function ignore(): void {}
