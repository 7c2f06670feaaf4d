import type { Completion } from '../attempt.js';
import { usedAfterEnd } from '../transaction-errors.js';
import { GroupBroken, type GroupedTransaction } from '../transactions.js';
import { isConnectionError, isReadOnlyError } from './mysql-errors.js';
import { handlerClient } from './mysql-transaction-client.js';
import type { HandlerAnswer, TransactionConnection } from './mysql-transaction-connection.js';
import { HandlerStatements } from './mysql-transaction-statements.js';
import { wrapLost } from './mysql-transaction.js';
import { checkPart, partSavepoint, undoPart, type Beginning } from './statements/transaction.js';
import { brokenTransaction, isDeadlock, isGone } from './transaction-errors.js';

/** What a part needs of its group. */
export interface GroupOfParts {
  /** Resolves when the group has committed, and rejects when it has not. */
  readonly ended: Promise<void>;
  /** Why nothing of it can commit any more. */
  readonly failure: Error | undefined;
  /** Takes the connection of its transaction, or shares it. */
  connect(): Promise<TransactionConnection>;
  /** Begins a part: answers its number, and what its first statement is sent behind. */
  begin(): { readonly part: number; readonly beginning: Beginning };
  /** Has that completed when the group commits. */
  add(completion: Completion): void;
  /** The group cannot commit any more. */
  fail(failure: Error, how?: 'ask'): void;
  /** The connection is not to be used again. */
  replace(error: Error): void;
}

/** One task's part of a group: what it did since its savepoint can be undone by itself. */
export class MysqlGroupPart implements GroupedTransaction {
  readonly over: Promise<void>;
  #handOver!: () => void;
  readonly #group: GroupOfParts;
  readonly #statements = new HandlerStatements();
  #connection: Promise<TransactionConnection> | undefined;
  /** Its number in the group; 0 before it has begun there. */
  #part = 0;
  /** True when the attempt is over: the handler's late statements are refused. */
  #ended = false;
  #completing = false;
  #disturbed = false;

  constructor(group: GroupOfParts) {
    this.#group = group;
    this.over = new Promise((resolve) => (this.#handOver = resolve));
  }

  get opened(): boolean {
    return this.#connection !== undefined;
  }

  get disturbed(): boolean {
    return this.#disturbed;
  }

  query(text: string, values?: unknown[]): Promise<HandlerAnswer> {
    const answer = this.#run(text, values);
    answer.catch(ignore);
    return answer;
  }

  client(): Promise<unknown> {
    const client = this.#open().then((connection) => {
      this.#refuseLate();
      const beginning = this.#begin();
      if (beginning) void this.#sent('begin', connection.ask(beginning.text)).catch(ignore);
      return handlerClient(connection.raw, connection.watching(this.#statements), () => this.#ended);
    });
    client.catch(ignore);
    return client;
  }

  async complete(completion: Completion): Promise<void> {
    const connection = await this.#connection;
    if (!connection || this.#ended) throw usedAfterEnd();
    this.#ended = true;
    this.#completing = true;
    await this.#takeStock();
    try {
      await this.#check(connection);
      this.#group.add(completion);
    } finally {
      this.#handOver();
    }
    await this.#group.ended.catch((error: unknown) => {
      throw wrapLost(error, completion.id);
    });
  }

  async rollback(): Promise<void> {
    if (!this.#ended) {
      this.#ended = true;
      const connection = await this.#connection?.catch(ignore);
      await this.#takeStock();
      if (connection) await this.#undo(connection);
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

  async #run(text: string, values?: unknown[]): Promise<HandlerAnswer> {
    const connection = await this.#open();
    this.#refuseLate();
    return this.#sent(text, connection.query(text, values, this.#begin()));
  }

  #sent<T>(text: string, answer: Promise<T>): Promise<T> {
    const noted = this.#statements.track(text, answer);
    void noted.catch((error: unknown) => this.#noteError(error));
    return noted;
  }

  #open(): Promise<TransactionConnection> {
    if (this.#ended) return Promise.reject(usedAfterEnd());
    this.#connection ??= this.#group.connect();
    return this.#connection;
  }

  /** Undefined when it has begun. */
  #begin(): Beginning | undefined {
    if (this.#part > 0) return undefined;
    const { part, beginning } = this.#group.begin();
    this.#part = part;
    return beginning;
  }

  #refuseLate(): void {
    if (this.#ended) throw usedAfterEnd();
  }

  #noteError(error: unknown): void {
    if (isReadOnlyError(error)) this.#group.replace(error as Error);
    if (isConnectionError(error)) this.#group.fail(error as Error);
    // Its first statement stands behind the end of the part before.
    if (isGone(error, partSavepoint(this.#part - 1))) this.#group.fail(endedByAnother(), 'ask');
  }

  /** Waits for the statements under way. */
  async #takeStock(): Promise<void> {
    await this.#statements.last;
    this.#disturbed = this.#group.failure instanceof GroupBroken || isDeadlock(this.#statements.firstError);
  }

  /** Its work counts when the transaction is as it was given: it has not been ended, and no error was swallowed. */
  async #check(connection: TransactionConnection): Promise<void> {
    if (this.#group.failure) throw this.#group.failure;
    if (!this.#statements.mayHaveEnded) return;
    const { firstError } = this.#statements;
    if (firstError === undefined && (await this.#isAsGiven(connection))) return;
    this.#completing = false;
    await this.#undo(connection);
    throw this.#disturbed
      ? new GroupBroken('it conflicted with another task', { cause: firstError })
      : brokenTransaction(firstError);
  }

  async #isAsGiven(connection: TransactionConnection): Promise<boolean> {
    try {
      await connection.ask(checkPart(this.#part));
      return true;
    } catch (error) {
      if (isGone(error, partSavepoint(this.#part))) return false;
      this.#noteError(error);
      throw error;
    }
  }

  /** Never rejects. */
  async #undo(connection: TransactionConnection): Promise<void> {
    if (this.#group.failure || this.#part === 0) return;
    try {
      await connection.ask(undoPart(this.#part));
    } catch (error) {
      if (isConnectionError(error)) this.#group.fail(error as Error);
      else this.#group.fail(endedByAnother(error), 'ask');
    }
  }
}

function endedByAnother(cause?: unknown): GroupBroken {
  return new GroupBroken('another task of its group ended their transaction', { cause });
}

function ignore(): void {}
