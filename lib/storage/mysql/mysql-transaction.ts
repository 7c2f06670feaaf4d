import { TarefaError } from '../../errors.js';
import type { Completion, WorkerId } from '../attempt.js';
import { usedAfterEnd } from '../transaction-errors.js';
import type { ServerSession, TaskTransaction } from '../transactions.js';
import { messageOf } from './connections/lost-connection.js';
import { sessionOf } from './connections/session-place.js';
import { isConnectionError, isReadOnlyError } from './mysql-errors.js';
import { handlerClient } from './mysql-transaction-client.js';
import { TransactionConnection, type HandlerAnswer } from './mysql-transaction-connection.js';
import { HandlerStatements } from './mysql-transaction-statements.js';
import type { ServerAccess } from './other-ways.js';
import { savepointGuard, type TransactionGuard } from './savepoint-guard.js';
import { savepoint } from './statements/transaction.js';
import { brokenTransaction, explainRefusal } from './transaction-errors.js';

/**
 * One task's transaction on a connection of the pool. It is begun in the text of the handler's first statement; the completion and
 * COMMIT are one text as well. So a handler that writes one row costs two round trips, and one that never touches the database none.
 */
export class MysqlTransaction implements TaskTransaction {
  readonly #access: ServerAccess;
  readonly #workerId: WorkerId;
  readonly #guard: TransactionGuard;
  readonly #opened: ((session: ServerSession) => void) | undefined;
  readonly #statements = new HandlerStatements();
  #connection: Promise<TransactionConnection> | undefined;
  #begun = false;
  /** True when the attempt is over: the handler's late statements are refused. */
  #ended = false;

  /** @param opened told where it runs */
  constructor(access: ServerAccess, workerId: WorkerId, opened?: (session: ServerSession) => void) {
    this.#access = access;
    this.#workerId = workerId;
    this.#guard = (access.ways.guard ?? savepointGuard)(access);
    this.#opened = opened;
  }

  get opened(): boolean {
    return this.#connection !== undefined;
  }

  query(text: string, values?: unknown[]): Promise<HandlerAnswer> {
    const answer = this.#run(text, values);
    answer.catch(ignore);
    return answer;
  }

  client(): Promise<unknown> {
    const client = this.#open().then((connection) => {
      this.#refuseLate();
      if (!this.#begun) this.#begin(connection);
      return handlerClient(connection.raw, connection.watching(this.#statements), () => this.#ended);
    });
    client.catch(ignore);
    return client;
  }

  async complete(completion: Completion): Promise<void> {
    const connection = await this.#open();
    this.#ended = true;
    await this.#statements.last;
    if (this.#statements.firstError !== undefined) throw brokenTransaction(this.#statements.firstError);
    const { id } = completion;
    try {
      await this.#guard.complete(connection, this.#workerId, completion);
      connection.giveBack();
    } catch (error) {
      await connection.undo();
      throw explainRefusal(wrapLost(error, id), completion, savepoint, this.#statements.firstError);
    }
  }

  async rollback(): Promise<void> {
    this.#ended = true;
    const connection = await this.#connection?.catch(ignore);
    if (!connection) return;
    const { firstError } = this.#statements;
    if (isReadOnlyError(firstError)) connection.cut(firstError as Error);
    else await connection.undo();
  }

  destroy(reason: Error): void {
    this.#ended = true;
    void this.#connection?.then((connection) => connection.cut(reason), ignore);
  }

  async #run(text: string, values?: unknown[]): Promise<HandlerAnswer> {
    const connection = await this.#open();
    this.#refuseLate();
    const beginning = this.#begun ? undefined : this.#guard.beginning;
    this.#begun = true;
    return this.#statements.track(text, connection.query(text, values, beginning));
  }

  #open(): Promise<TransactionConnection> {
    if (this.#ended) return Promise.reject(usedAfterEnd());
    this.#connection ??= this.#take();
    return this.#connection;
  }

  async #take(): Promise<TransactionConnection> {
    const connection = await TransactionConnection.take(this.#access.tasks, this.#access.own);
    if (this.#ended) {
      connection.giveBack();
      throw usedAfterEnd();
    }
    const opened = this.#opened;
    if (opened) void sessionOf(connection.raw).then((session) => session && opened(session));
    return connection;
  }

  /** Not awaited: it goes before what the handler sends. Should it fail, the completion does. */
  #begin(connection: TransactionConnection): void {
    this.#begun = true;
    void this.#statements.track('begin', connection.ask(this.#guard.beginning.text)).catch(ignore);
  }

  #refuseLate(): void {
    if (this.#ended) throw usedAfterEnd();
  }
}

/** A connection that was lost at the end of an attempt leaves open how it ended. */
export function wrapLost(error: unknown, id: string): unknown {
  if (!isConnectionError(error)) return error;
  return new TarefaError(
    'CONNECTION_LOST',
    `the database did not confirm the end of attempt ${id}: ${messageOf(error)}`,
    { cause: error },
  );
}

function ignore(): void {}
