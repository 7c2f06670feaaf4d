import type { PoolClient } from 'pg';
import { GroupBroken, type GroupedTransaction } from '../transactions.js';
import { type Completion } from '../attempt.js';
import { usedAfterEnd } from '../transaction-errors.js';
import { withAnswerLimit } from './connections/control-connection.js';
import { isConnectionError, isReadOnlyError, wrapConnectionError } from './connections/connection-config.js';
import { inOneFlight } from './one-flight.js';
import { brokenTransaction } from './transaction-errors.js';

/** What a part needs of its group. */
export interface GroupOfParts {
  /** Resolves when the group has committed, and rejects when it has not. */
  readonly ended: Promise<void>;
  /** Why nothing of it can commit any more. */
  readonly failure: Error | undefined;
  /** Opens its transaction, or shares the one that is open. */
  connect(): Promise<PoolClient>;
  /** Begins a part; returns its savepoint. */
  begin(client: PoolClient): string;
  /** Has that completed when the group commits. */
  add(completion: Completion): void;
  /** The group cannot commit any more. */
  fail(failure: Error, how?: 'ask'): void;
  /** The connection is not to be used again. */
  replace(error: Error): void;
}

/** One task's part of a group: what it did since its savepoint can be undone by itself. */
export class PostgresGroupPart implements GroupedTransaction {
  readonly over: Promise<void>;
  #handOver!: () => void;
  readonly #group: GroupOfParts;
  #client: Promise<PoolClient> | undefined;
  #savepoint = '';
  /** True when the attempt is over: the handler's late statements are refused. */
  #ended = false;
  #completing = false;
  /** True when the handler has the client itself: what it does there is only known when the server has answered. */
  #exposed = false;
  #disturbed = false;
  /** First statement of the handler that failed: named when the handler swallowed it. */
  #firstError: unknown;
  /** Settles with the statement sent last; statements of one connection end in order. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(group: GroupOfParts) {
    this.#group = group;
    this.over = new Promise((resolve) => (this.#handOver = resolve));
  }

  get opened(): boolean {
    return this.#client !== undefined;
  }

  get disturbed(): boolean {
    return this.#disturbed;
  }

  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const answer = this.#run(text, values);
    answer.catch(ignore);
    return answer;
  }

  client(): Promise<PoolClient> {
    this.#exposed = true;
    const client = this.#open();
    client.catch(ignore);
    return client;
  }

  async complete(completion: Completion): Promise<void> {
    const client = await this.#client;
    if (!client || this.#ended) throw usedAfterEnd();
    this.#ended = true;
    this.#completing = true;
    await this.#takeStock();
    try {
      await this.#check(client);
      this.#group.add(completion);
    } finally {
      this.#handOver();
    }
    await this.#group.ended.catch((error: unknown) => {
      throw wrapConnectionError(error, `the database did not confirm the end of attempt ${completion.id}`);
    });
  }

  async rollback(): Promise<void> {
    if (!this.#ended) {
      this.#ended = true;
      const client = await this.#client?.catch(ignore);
      await this.#takeStock();
      if (client) await this.#undo(client).catch(ignore);
    }
    this.#handOver();
    // How it failed is told when nothing of it can commit any more.
    if (this.opened) await this.#group.ended.catch(ignore);
  }

  destroy(reason: Error): void {
    // Work that is undone already does not undo the others'.
    const hasWork = this.opened && (!this.#ended || this.#completing);
    if (hasWork) this.#group.fail(new GroupBroken(reason.message, { cause: reason }));
    this.#ended = true;
    this.#handOver();
  }

  async #run(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }> {
    const client = await this.#open();
    if (this.#ended) throw usedAfterEnd();
    const answer = client.query<Record<string, unknown>>(text, values);
    // A handler that forgets to wait for an answer must not end the process: its transaction knows.
    this.#last = answer.then(ignore, (error: unknown) => this.#noteError(error));
    return answer;
  }

  #open(): Promise<PoolClient> {
    if (this.#ended) return Promise.reject(usedAfterEnd());
    this.#client ??= this.#begin();
    return this.#client;
  }

  async #begin(): Promise<PoolClient> {
    const client = await this.#group.connect();
    if (this.#ended) throw usedAfterEnd();
    this.#savepoint = this.#group.begin(client);
    return client;
  }

  #noteError(error: unknown): void {
    this.#firstError ??= error;
    if (isReadOnlyError(error)) this.#group.replace(error as Error);
    if (isConnectionError(error)) this.#group.fail(error as Error);
  }

  /** Waits for the statements under way. */
  async #takeStock(): Promise<void> {
    await this.#last;
    this.#disturbed = this.#group.failure instanceof GroupBroken || isConflict(this.#firstError);
  }

  /** Its work counts when the transaction is as it was given: it has not been ended, and no error was swallowed. */
  async #check(client: PoolClient): Promise<void> {
    await this.#makeSure(client);
    if (this.#group.failure) throw this.#group.failure;
    const status = client.getTransactionStatus();
    if (status === 'T') return;
    this.#completing = false;
    await this.#undo(client);
    throw this.#disturbed
      ? new GroupBroken('it conflicted with another task', { cause: this.#firstError })
      : brokenTransaction(status, this.#firstError);
  }

  async #undo(client: PoolClient): Promise<void> {
    await this.#makeSure(client);
    if (this.#group.failure) return;
    if (client.getTransactionStatus() === 'I') {
      return this.#group.fail(new GroupBroken('another task of its group ended their transaction'), 'ask');
    }
    inOneFlight(client);
    client
      .query(`rollback to savepoint ${this.#savepoint}`)
      .catch((error: unknown) => this.#group.fail(failureOf(error), 'ask'));
  }

  /**
   * Makes sure that the status is that of now: an error arrives before the status that it leads to, and what a handler
   * sends by the client itself is not known here.
   */
  async #makeSure(client: PoolClient): Promise<void> {
    const isKnown = !this.#exposed && this.#firstError === undefined;
    if (isKnown || this.#group.failure) return;
    await withAnswerLimit(
      client,
      client.query('').catch((error: unknown) => this.#noteError(error)),
    );
  }
}

/** The fault of tasks that met, not of this one: a deadlock, or what a stricter isolation refuses. */
function isConflict(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('40');
}

/** What an error of one of its statements means for the group. */
export function failureOf(error: unknown): Error {
  if (isConnectionError(error)) return error as Error;
  return new GroupBroken('another task of its group broke their transaction', { cause: error });
}

function ignore(): void {}
