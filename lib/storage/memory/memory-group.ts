import type { Completion, WorkerId } from '../attempt.js';
import type { SqlHandle } from '../sql-handle.js';
import { usedAfterEnd } from '../transaction-errors.js';
import { GroupBroken, type GroupedTransaction, type TaskGroup } from '../transactions.js';
import type { MemoryTable } from './memory-table.js';
import { needsDatabase } from './needs-database.js';
import { StandInStatements } from './stand-in-statements.js';

/** Several tasks' transaction in memory: they are completed together or not at all. */
export class MemoryGroup implements TaskGroup {
  /** As many as in PostgreSQL. */
  readonly most = 50;
  readonly #table: MemoryTable;
  readonly #workerId: WorkerId;
  readonly #db: SqlHandle | undefined;
  readonly #completions: Completion[] = [];
  /** Settles when the group has ended: resolves when it has committed. */
  readonly ended: Promise<void>;
  #settle!: { readonly resolve: () => void; readonly reject: (trouble: Error) => void };
  #trouble: GroupBroken | undefined;
  #committed = false;

  constructor(table: MemoryTable, workerId: WorkerId, db: SqlHandle | undefined) {
    this.#table = table;
    this.#workerId = workerId;
    this.#db = db;
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    this.ended.catch(() => undefined);
  }

  get broken(): boolean {
    return this.#trouble !== undefined;
  }

  next(): GroupedTransaction {
    return new MemoryGroupPart(this, new StandInStatements(this.#db));
  }

  async commit(): Promise<void> {
    if (this.#trouble) return;
    const held = this.#completions.map((completion) => this.#table.held(this.#workerId, completion));
    if (held.includes(undefined)) return this.fail(new GroupBroken(otherTask));
    for (const [index, { message, result }] of this.#completions.entries()) {
      const row = held[index];
      if (row) this.#table.complete(row, message, result);
    }
    this.#committed = true;
    this.#settle.resolve();
  }

  /** Completes it with the others; throws when none of them can be completed any more. */
  add(completion: Completion): void {
    if (this.#trouble) throw this.#trouble;
    this.#completions.push(completion);
  }

  fail(trouble: GroupBroken): void {
    if (this.#trouble || this.#committed) return;
    this.#trouble = trouble;
    this.#settle.reject(trouble);
  }
}

const otherTask = 'another task of its group broke their transaction';

/** One task's part of a {@link MemoryGroup}. */
class MemoryGroupPart implements GroupedTransaction {
  readonly over: Promise<void>;
  #handOver!: () => void;
  readonly #group: MemoryGroup;
  readonly #statements: StandInStatements;
  #completing = false;

  constructor(group: MemoryGroup, statements: StandInStatements) {
    this.#group = group;
    this.#statements = statements;
    this.over = new Promise((resolve) => (this.#handOver = resolve));
  }

  get opened(): boolean {
    return this.#statements.opened;
  }

  get disturbed(): boolean {
    return this.#group.broken;
  }

  query(text: string, values?: unknown[]): ReturnType<SqlHandle['query']> {
    return this.#statements.run(text, values);
  }

  async client(): Promise<never> {
    throw needsDatabase('ctx.client()');
  }

  async complete(completion: Completion): Promise<void> {
    if (!this.opened || this.#statements.ended) throw usedAfterEnd();
    this.#statements.end();
    this.#completing = true;
    try {
      await this.#statements.check();
      this.#group.add(completion);
    } finally {
      this.#handOver();
    }
    await this.#group.ended;
  }

  async rollback(): Promise<void> {
    this.#statements.end();
    this.#handOver();
    if (this.opened) await this.#group.ended.catch(() => undefined);
  }

  destroy(reason: Error): void {
    const hasWork = this.opened && (!this.#statements.ended || this.#completing);
    if (hasWork) this.#group.fail(new GroupBroken(reason.message, { cause: reason }));
    this.#statements.end();
    this.#handOver();
  }
}
