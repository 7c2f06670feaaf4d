import type { Completion, WorkerId } from '../../attempt.js';
import type { GroupedTransaction, TaskGroup } from '../../transactions.js';
import { MysqlTransaction } from '../mysql-transaction.js';
import type { ServerAccess } from '../other-ways.js';

/** A group takes one task where a task cannot be undone without the others, for want of savepoints. */
export class GroupOfOne implements TaskGroup {
  readonly most = 1;
  readonly broken = false;
  readonly #access: ServerAccess;
  readonly #workerId: WorkerId;

  constructor(access: ServerAccess, workerId: WorkerId) {
    this.#access = access;
    this.#workerId = workerId;
  }

  next(): GroupedTransaction {
    return new OnlyPart(new MysqlTransaction(this.#access, this.#workerId));
  }

  /** The task has committed by itself. */
  async commit(): Promise<void> {
    // There is nothing left to do.
  }
}

/** The transaction of a task that is alone in its group. */
class OnlyPart implements GroupedTransaction {
  readonly disturbed = false;
  readonly over: Promise<void>;
  readonly #transaction: MysqlTransaction;
  #end!: () => void;

  constructor(transaction: MysqlTransaction) {
    this.#transaction = transaction;
    this.over = new Promise((resolve) => (this.#end = resolve));
  }

  get opened(): boolean {
    return this.#transaction.opened;
  }

  query(text: string, values?: unknown[]): ReturnType<MysqlTransaction['query']> {
    return this.#transaction.query(text, values);
  }

  client(): Promise<unknown> {
    return this.#transaction.client();
  }

  complete(completion: Completion): Promise<void> {
    return this.#transaction.complete(completion).finally(this.#end);
  }

  rollback(): Promise<void> {
    return this.#transaction.rollback().finally(this.#end);
  }

  destroy(reason: Error): void {
    this.#transaction.destroy(reason);
    this.#end();
  }
}
