import type { Connection, QueryError } from 'mysql2';
import { TarefaError } from '../../../errors.js';
import type { TenantConnection } from '../../../tenants/tenant-connection.js';
import { messageOf, unavailable, usedAfterEnd } from '../../../tenants/tenant-error.js';
import { deadlineIn } from '../../../timing/deadline.js';
import type { DriverClient } from '../../driver-client.js';
import type { TenantAnswer } from '../../tenant-db.js';
import { isConnectionError } from '../mysql-errors.js';
import { handlerClient } from '../mysql-transaction-client.js';
import type { HandlerAnswer } from '../mysql-transaction-connection.js';
import { HandlerStatements } from '../mysql-transaction-statements.js';
import { begin, savepoint, undo } from '../statements/transaction.js';
import { isDeadlock, isGone } from '../transaction-errors.js';
import { AnswerWatch, LateAnswer } from './answer-watch.js';
import type { DoneStatements } from './done-table.js';
import { streamOf } from '../connections/stream-of.js';
import { leavesOpen, readAnswer } from './tenant-answer.js';

/** How long a server may take for what is left to do when a handler has ended. */
const answerMs = 5_000;
/** Attempts of one task that mark the same may meet in a deadlock. */
const mostMarks = 5;

const [duplicate, noTable] = [1062, 1146];

const beginText = begin(savepoint).text;
/** For a mark: whoever waits for another one's sees it then. */
const beginOnceText = `set transaction isolation level read committed; ${beginText}`;
/** Fails when the transaction was ended by what was done in it. */
const commitText = `-- name: commit\nrelease savepoint ${savepoint}; commit; set autocommit = 1`;
/** Says nothing but whether a transaction is open. */
const nothing = '-- name: look_whether_idle\ndo 0';

export interface MysqlTenantConnectionParts {
  /** 0: no limit. */
  readonly queryTimeoutMs: number;
  readonly statements: DoneStatements;
  /** Leaves the session as it was opened. */
  readonly reset: (connection: Connection) => Promise<void>;
  /** It is given back, and may be lent again. */
  readonly back: () => void;
  /** It was cut; its session may be at work. */
  readonly cut: (isAtWork: boolean) => void;
}

/** {@link TenantConnection} to MySQL or MariaDB. */
export class MysqlTenantConnection implements TenantConnection {
  readonly tenant: string;
  readonly #connection: Connection;
  readonly #parts: MysqlTenantConnectionParts;
  readonly #watch: AnswerWatch;
  /** Of the transaction that was begun here, while it is open. */
  #inside: HandlerStatements | undefined;
  /** Whether a transaction is open besides that; undefined when only the server knows. */
  #isOpen: boolean | undefined = false;
  #isGone = false;
  #returning: Promise<void> | undefined;

  constructor(tenant: string, connection: Connection, parts: MysqlTenantConnectionParts) {
    this.tenant = tenant;
    this.#connection = connection;
    this.#parts = parts;
    this.#watch = new AnswerWatch(parts.queryTimeoutMs, () => this.destroy(new LateAnswer()));
  }

  get gone(): boolean {
    return this.#isGone;
  }

  get idle(): boolean {
    return !this.#isGone && this.#watch.isQuiet && !this.#inside && this.#isOpen === false;
  }

  query(text: string, values?: unknown[]): Promise<TenantAnswer> {
    const answer = this.#send(text, values);
    return this.#inside?.track(text, answer) ?? answer;
  }

  begin(): Promise<void> {
    return this.#begin(beginText);
  }

  beginOnce(): Promise<void> {
    return this.#begin(beginOnceText);
  }

  async commit(): Promise<boolean> {
    if (this.#inside?.firstError !== undefined) {
      await this.rollback();
      return false;
    }
    try {
      await this.#send(commitText);
      this.#inside = undefined;
      return true;
    } catch (error) {
      if (!isGone(error, savepoint)) throw error;
      await this.rollback();
      throw this.#endedInside(error);
    }
  }

  async rollback(): Promise<void> {
    await this.#send(undo);
    this.#inside = undefined;
  }

  async markDone(key: string, step: string): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#send(this.#parts.statements.mark, [key, step]);
        return true;
      } catch (error) {
        const { errno } = error as { readonly errno?: unknown };
        if (errno === duplicate) return false;
        if (errno === noTable) throw this.#noDoneTable(error);
        if (!isDeadlock(error) || tries === mostMarks) throw error;
        // The server has undone the transaction, in which nothing was done yet.
        await this.#send(undo);
        await this.#send(beginOnceText);
      }
    }
  }

  async createDoneTable(): Promise<void> {
    await this.#send(this.#parts.statements.create);
  }

  async purgeDone(olderThanSeconds: number, limit: number): Promise<number> {
    const { rowCount } = await this.#send(this.#parts.statements.purge, [olderThanSeconds, limit]);
    return rowCount;
  }

  client(hasEnded: () => boolean): DriverClient {
    const client = handlerClient(
      this.#connection,
      {
        sent: (text) => {
          this.#isOpen = undefined;
          this.#watch.streamed();
          this.#inside?.sent(text);
        },
        begun: (text) => {
          this.#isOpen = undefined;
          this.#watch.sent();
          const ended = this.#inside?.begun(text);
          return (error) => {
            this.#watch.answered();
            ended?.(error);
          };
        },
      },
      hasEnded,
      usedAfterEnd,
    );
    // It is declared as the client of `pg`; which one it is depends on the queue's database.
    return client as unknown as DriverClient;
  }

  async settled(): Promise<boolean> {
    if (this.#isGone) return false;
    if (this.#watch.isQuiet && this.#isOpen !== undefined) return true;
    const { reached, cancel } = deadlineIn(answerMs);
    const answered = this.#send(nothing).then(
      () => true,
      () => false,
    );
    try {
      if (!(await Promise.race([answered, reached.then(() => false)]))) return false;
      // Statements are answered in their order, also those that tell nobody.
      this.#watch.quiet();
      return true;
    } finally {
      cancel();
    }
  }

  giveBack(): Promise<void> {
    this.#returning ??= this.#giveBack();
    return this.#returning;
  }

  destroy(reason: Error): void {
    if (this.#isGone) return;
    const isBusy = !this.#watch.isQuiet;
    this.#isGone = true;
    this.#watch.quiet();
    const stream = streamOf(this.#connection);
    // One that the server has ended is not to be killed: it may have started again, and its numbers start over.
    const isAlive = !stream.destroyed;
    stream.destroy(reason);
    this.#parts.cut(isBusy && isAlive);
  }

  async #giveBack(): Promise<void> {
    if (this.#isGone) return;
    if (!(await this.settled()) || !this.idle) {
      return this.destroy(new Error('a transaction was left open on it'));
    }
    const { reached, cancel } = deadlineIn(answerMs);
    const isReset = this.#parts.reset(this.#connection).then(
      () => true,
      () => false,
    );
    const isWell = await Promise.race([isReset, reached.then(() => false)]);
    cancel();
    if (this.#isGone) return;
    if (!isWell) return this.destroy(new Error('no answer to the reset of its session'));
    this.#isGone = true;
    this.#parts.back();
  }

  async #begin(text: string): Promise<void> {
    this.#inside = new HandlerStatements();
    await this.#send(text);
  }

  async #send(sql: string, values?: unknown[]): Promise<HandlerAnswer> {
    // By now it may be another attempt's.
    if (this.#isGone)
      throw unavailable(`the database of tenant ${this.tenant} failed: its connection is closed`);
    this.#watch.sent();
    try {
      const answer = await new Promise<unknown>((resolve, reject) => {
        this.#connection.query(
          { sql, ...(values && { values }) },
          (error: QueryError | null, given: unknown) => (error ? reject(error) : resolve(given)),
        );
      });
      this.#watch.answered();
      this.#isOpen = leavesOpen(answer);
      return readAnswer(answer);
    } catch (error) {
      this.#watch.answered();
      this.#isOpen = undefined;
      throw this.#explain(error);
    }
  }

  /** A connection whose answer never came is of no use any more. */
  #explain(error: unknown): unknown {
    const isLate = error instanceof LateAnswer;
    if (!isLate && !isConnectionError(error)) return error;
    this.destroy(error as Error);
    const reason = isLate ? 'no answer within tenantDatabases.queryTimeoutMs' : messageOf(error);
    return unavailable(`the database of tenant ${this.tenant} failed: ${reason}`, error);
  }

  #noDoneTable(cause: unknown): TarefaError {
    return new TarefaError(
      'SCHEMA_MISSING',
      `the database of tenant ${this.tenant} has no table for once(): create it with ` +
        `TenantDatabases.createDedupTable('${this.tenant}')`,
      { cause },
    );
  }

  /** Some statements that define tables do so as well, and keep what was done before them. */
  #endedInside(cause: unknown): TarefaError {
    return new TarefaError(
      'TRANSACTION_BROKEN',
      `the work itself ended its transaction in the database of tenant ${this.tenant}, and its later changes were ` +
        `rolled back: leave COMMIT and ROLLBACK to transaction(), and run statements that define tables, which commit, outside of it`,
      { cause },
    );
  }
}
