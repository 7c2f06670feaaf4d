import type { PoolConnection, QueryError } from 'mysql2';
import { traceOf } from '../session-traces.js';
import type { Answer } from './connections/answers.js';
import type { LentConnection, OwnPool } from './connections/own-pool.js';
import { endSession } from './connections/session-place.js';
import { streamOf } from './connections/stream-of.js';
import type { ClientWatch } from './mysql-transaction-client.js';
import { undo, type Beginning } from './statements/transaction.js';

/** An answer as handlers read it. */
export interface HandlerAnswer {
  rows: Record<string, unknown>[];
  /** Rows that were answered, or that the statement has found to change. */
  rowCount: number;
}

/** The library's own statements are short; a COMMIT that takes longer than this is not harmed, as its outcome is read afterwards. */
const answerMs = 35_000;

/**
 * A connection of the pool while a handler has it. Whoever gives it back leaves it as it was lent; one of which that is not certain
 * is cut off.
 */
export class TransactionConnection {
  readonly raw: PoolConnection;
  readonly #lent: LentConnection;
  readonly #own: OwnPool;
  #isOurs = true;
  /** What has been left in its session, in words. */
  #trace: string | undefined;

  private constructor(lent: LentConnection, own: OwnPool) {
    this.raw = lent.raw;
    this.#lent = lent;
    this.#own = own;
  }

  /** @param own for what has to be said beside the transaction */
  static async take(tasks: OwnPool, own: OwnPool): Promise<TransactionConnection> {
    // It waits as long as the others need: a task that waits has not failed.
    return new TransactionConnection(await tasks.take(Infinity), own);
  }

  /**
   * Runs a statement of a handler, its answer read as the driver reads it.
   *
   * @param beginning sent before it in the same text
   */
  query(text: string, values: unknown[] | undefined, beginning?: Beginning): Promise<HandlerAnswer> {
    this.#note(text);
    const sql = beginning ? `${beginning.text};\n${text}` : text;
    return new Promise((resolve, reject) => {
      this.raw.query({ sql, ...(values && { values }) }, (error: QueryError | null, answer: unknown) => {
        if (error) reject(error);
        else resolve(readAnswer(answer, beginning?.statements ?? 0));
      });
    });
  }

  /** Adds to a watch that what is left in the session is noted. */
  watching(watch: ClientWatch): ClientWatch {
    return {
      sent: (text) => {
        this.#note(text);
        watch.sent(text);
      },
      begun: (text) => {
        this.#note(text);
        return watch.begun(text);
      },
    };
  }

  /** Runs a text of the library's, and cuts the connection when it is not answered. */
  async ask(text: string, values?: readonly unknown[]): Promise<readonly Answer[]> {
    const late = setTimeout(() => {
      this.#stream.destroy(lostError(`no answer in ${answerMs / 1_000} s`));
    }, answerMs);
    try {
      return await this.#lent.send(text, values);
    } finally {
      clearTimeout(late);
    }
  }

  /** Undoes everything and gives it back. Never rejects. */
  async undo(): Promise<void> {
    if (!this.#isOurs) return;
    try {
      await this.ask(undo);
      this.giveBack();
    } catch (error) {
      this.cut(error as Error);
    }
  }

  /** Its transaction is over, and autocommit is on. */
  giveBack(): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    this.#lent.release(this.#trace);
  }

  /**
   * Ends it, whatever is under way; what waits for an answer is told the reason. A server at work on a statement does not notice
   * that its client is gone, and keeps its locks: it is told. Not of a connection that it has ended itself: it may have started
   * again, and its numbers start over.
   */
  cut(reason: Error): void {
    if (!this.#isOurs) return;
    this.#isOurs = false;
    const isGone = this.#stream.destroyed;
    this.#stream.destroy(reason);
    this.#lent.forget(reason);
    if (isGone) return;
    this.#own.use((run) => endSession(this.raw, run)).catch(() => undefined);
  }

  #note(text: string): void {
    this.#trace ??= traceOf(text, 'mysql');
  }

  /** The driver's own `destroy` leaves those waiting for ever who wait for an answer. */
  get #stream(): ReturnType<typeof streamOf> {
    return streamOf(this.raw);
  }
}

function lostError(message: string): Error {
  return Object.assign(new Error(`Connection lost: ${message}`), { code: 'PROTOCOL_CONNECTION_LOST' });
}

/** Of several statements the last one answers, as of a text that was sent behind others. */
function readAnswer(answer: unknown, before: number): HandlerAnswer {
  const isOfSeveral =
    before > 0 || (Array.isArray(answer) && answer.some((one) => isHeader(one) || Array.isArray(one)));
  const last = isOfSeveral ? (answer as readonly unknown[]).at(-1) : answer;
  if (Array.isArray(last)) return { rows: last as Record<string, unknown>[], rowCount: last.length };
  return { rows: [], rowCount: isHeader(last) ? last.affectedRows : 0 };
}

function isHeader(answer: unknown): answer is { readonly affectedRows: number } {
  // Its class is made once by the driver; rows have no prototype of that name.
  return (answer as object | null)?.constructor?.name === 'ResultSetHeader';
}
