import { randomUUID } from 'node:crypto';
import type { Completion, WorkerId } from '../attempt.js';
import { GroupBroken, type GroupedTransaction, type TaskGroup } from '../transactions.js';
import type { MysqlAccess } from './mysql-access.js';
import { isConnectionError } from './mysql-errors.js';
import { MysqlGroupPart, type GroupOfParts } from './mysql-group-part.js';
import { TransactionConnection } from './mysql-transaction-connection.js';
import { beginPart, completeGroup, unmark, type Beginning } from './statements/transaction.js';

/** Tasks of a group: each has a savepoint, and all its rows stay locked until the last is done. */
const mostTasks = 50;

/**
 * Several tasks' transaction on one connection of the pool. The savepoint of a task is set in the text of its first statement, and
 * all completions and COMMIT are one text. So a handler that writes one row costs one round trip.
 */
export class MysqlGroup implements TaskGroup, GroupOfParts {
  readonly most = mostTasks;
  readonly #access: MysqlAccess;
  readonly #workerId: WorkerId;
  /** Settles when the transaction has ended: resolves when it has committed. */
  readonly ended: Promise<void>;
  #settle!: { readonly resolve: () => void; readonly reject: (failure: Error) => void };
  #connection: Promise<TransactionConnection> | undefined;
  #connected: TransactionConnection | undefined;
  #failure: Error | undefined;
  #committed = false;
  /** Why the connection is not worth keeping, though its transaction is. */
  #unfit: Error | undefined;
  #parts = 0;
  readonly #mark = `group:${randomUUID()}`;
  readonly #completions: Completion[] = [];

  constructor(access: MysqlAccess, workerId: WorkerId) {
    this.#access = access;
    this.#workerId = workerId;
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ended.catch(ignore);
  }

  get broken(): boolean {
    return this.#failure !== undefined;
  }

  /** Why it ended badly: {@link GroupBroken} when a task is at fault, else the connection's error. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  next(): GroupedTransaction {
    return new MysqlGroupPart(this);
  }

  async commit(): Promise<void> {
    const connection = await this.#connection?.catch(ignore);
    if (!connection || this.#failure) return;
    if (this.#completions.length === 0) {
      await connection.undo();
      this.#succeed();
      return;
    }
    const text = completeGroup(this.#access.tables, this.#parts, this.#mark);
    try {
      await connection.ask(text, [this.#completionsJson(), this.#completions.length]);
      this.#succeed();
    } catch (error) {
      this.fail(failureOf(error), 'ask');
    }
  }

  /** The connection that its transaction is on. The first call takes it. */
  connect(): Promise<TransactionConnection> {
    if (!this.#connection) {
      this.#connection = this.#take();
      this.#connection.catch((error: unknown) => this.fail(error as Error));
    }
    return this.#connection;
  }

  /** What the next task's first statement is sent behind. */
  begin(): { readonly part: number; readonly beginning: Beginning } {
    this.#parts += 1;
    return { part: this.#parts, beginning: beginPart(this.#access.tables, this.#parts, this.#mark) };
  }

  /** Its work is done: it is completed with the others. */
  add(completion: Completion): void {
    this.#completions.push(completion);
  }

  /**
   * Ends it badly; the first reason counts. The connection is cut: whatever was sent meanwhile must not take effect, and a handler
   * may still be using it.
   *
   * @param fate whether what was done before is undone; `ask` when a handler may have committed it
   */
  fail(failure: Error, fate: 'undone' | 'ask' = 'undone'): void {
    if (this.#failure || this.#committed) return;
    this.#failure = failure;
    const connection = this.#connected;
    this.#connected = undefined;
    connection?.cut(failure);
    if (fate === 'undone' || isConnectionError(failure)) this.#settle.reject(failure);
    else void this.#askFate(failure).then(this.#settle.reject, () => this.#settle.reject(failure));
  }

  /** After its transaction the connection is replaced. */
  replace(reason: Error): void {
    this.#unfit = reason;
  }

  async #take(): Promise<TransactionConnection> {
    const connection = await TransactionConnection.take(this.#access.tasks, this.#access.own);
    if (this.#failure) {
      connection.giveBack();
      throw this.#failure;
    }
    this.#connected = connection;
    return connection;
  }

  #completionsJson(): string {
    // In the order of their keys, as everybody else locks them.
    const sorted = this.#completions.toSorted((one, other) => Number(BigInt(one.id) - BigInt(other.id)));
    return JSON.stringify(
      sorted.map(({ id, reservation, message, result }) => ({
        id,
        reservation,
        worker: this.#workerId,
        message: message.toWellFormed(),
        result: result?.toWellFormed(),
      })),
    );
  }

  #succeed(): void {
    if (this.#failure) return;
    this.#committed = true;
    const connection = this.#connected;
    this.#connected = undefined;
    if (this.#unfit) connection?.cut(this.#unfit);
    else connection?.giveBack();
    this.#settle.resolve();
  }

  /** The mark is there when somebody has committed. It waits for a transaction that is still being undone. */
  async #askFate(failure: Error): Promise<Error> {
    if (this.#parts < 2) return failure;
    const { changed } = await this.#access.own.query(unmark(this.#access.tables, this.#mark));
    return changed > 0 ? new GroupBroken(failure.message, { cause: failure, kept: true }) : failure;
  }
}

/** What an error of one of its statements means for the group. */
function failureOf(error: unknown): Error {
  if (isConnectionError(error)) return error as Error;
  return new GroupBroken('another task of its group broke their transaction', { cause: error });
}

function ignore(): void {}
