import { TarefaError } from '../../errors.js';
import type { TaskInserts } from '../inserts.js';
import type { SqlHandle } from '../sql-handle.js';
import type { NumberedTask, Refusal, TaskImportTransactions } from '../task-import.js';
import { rowsOf } from './administration/answered.js';
import { idParameter } from './administration/id-list.js';
import { rethrowConnectionError } from './connections/lost-connection.js';
import { asHandle, type LentConnection } from './connections/own-pool.js';
import { endSession } from './connections/session-place.js';
import type { Run } from './connections/transactions.js';
import type { MysqlAccess } from './mysql-access.js';
import { classifyError } from './mysql-errors.js';
import { named } from './statement.js';

type Access = Pick<MysqlAccess, 'own' | 'tables'>;

/** {@link TaskImportTransactions} on one of the library's connections. */
export class MysqlImportTransactions implements TaskImportTransactions {
  readonly #access: Access;
  readonly #lent: LentConnection;
  readonly #inserts: TaskInserts;
  readonly #run: Run;
  readonly #handle: SqlHandle;
  #open = false;
  /** Of the transaction. */
  #lastId: string | undefined;

  static async open(access: Access, inserts: TaskInserts): Promise<MysqlImportTransactions> {
    const lent = await access.own.take().catch(rethrowConnectionError);
    return new MysqlImportTransactions(access, lent, inserts);
  }

  private constructor(access: Access, lent: LentConnection, inserts: TaskInserts) {
    this.#access = access;
    this.#lent = lent;
    this.#inserts = inserts;
    this.#run = (text, values) => lent.ask(text, values).catch(rethrowConnectionError);
    this.#handle = asHandle(this.#run);
  }

  async insert(tasks: readonly NumberedTask[]): Promise<readonly string[] | Refusal> {
    if (!this.#open) await this.#run('start transaction');
    this.#open = true;
    try {
      const ids = await this.#insert(tasks);
      // That of a unique one may be another's, which was there before.
      this.#lastId = ids.findLast((_, index) => !tasks[index]?.task.unique) ?? this.#lastId;
      return ids;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      await this.rollback();
      return await this.#findRefused(tasks, error.message);
    }
  }

  async commit(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    const lastId = this.#lastId;
    this.#lastId = undefined;
    try {
      await this.#run('commit');
    } catch (error) {
      if (classifyError(error) !== 'connection') throw error;
      await this.#makeSureOf(lastId, error);
    }
  }

  async rollback(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#lastId = undefined;
    await this.#run('rollback').catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.rollback();
    this.#lent.destroy();
  }

  #insert(tasks: readonly NumberedTask[]): Promise<string[]> {
    return this.#inserts.insertMany(
      tasks.map(({ task }) => task),
      this.#handle,
    );
  }

  /** Tries halves of them, in a transaction that is undone, until one is left that is refused by itself. */
  async #findRefused(tasks: readonly NumberedTask[], message: string): Promise<Refusal> {
    let found = tasks;
    let said = message;
    await this.#run('start transaction');
    try {
      while (found.length > 1) {
        const half = Math.ceil(found.length / 2);
        const refused = await this.#firstRefused([found.slice(0, half), found.slice(half)]);
        // Together they are refused, one by one they are not: the rule is about more than one row.
        if (!refused) break;
        [found, said] = [refused.part, refused.message];
      }
    } finally {
      await this.#run('rollback').catch(() => undefined);
    }
    return { first: found[0]?.line ?? 0, last: found.at(-1)?.line ?? 0, message: said };
  }

  async #firstRefused(
    parts: readonly (readonly NumberedTask[])[],
  ): Promise<{ readonly part: readonly NumberedTask[]; readonly message: string } | undefined> {
    for (const part of parts) {
      await this.#run('savepoint part');
      try {
        await this.#insert(part);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        return { part, message: error.message };
      } finally {
        await this.#run('rollback to savepoint part').catch(() => undefined);
      }
    }
    return undefined;
  }

  /** The answer to a COMMIT was lost: another connection knows what became of it, unless all the tasks may be others'. */
  async #makeSureOf(lastId: string | undefined, cause: unknown): Promise<void> {
    const isThere = lastId === undefined ? undefined : await this.#isCommitted(lastId).catch(() => undefined);
    if (isThere === true) return;
    const what =
      isThere === false
        ? 'it was not committed'
        : 'whether it was committed is unknown: look for its tasks before inserting them again';
    throw new TarefaError(
      'CONNECTION_LOST',
      `the connection was lost at the end of the transaction; ${what}`,
      { cause },
    );
  }

  /** A transaction whose client is gone stays open until the server notices; a row of one that is being committed is waited for. */
  #isCommitted(id: string): Promise<boolean> {
    const { own, tables } = this.#access;
    return own.use(async (run) => {
      await endSession(this.#lent.raw, run).catch(() => undefined);
      const rows = await rowsOf(run, lastImported(tables.queue), [id]);
      return rows.length > 0;
    });
  }
}

/** Parameters: id. */
const lastImported = (queue: string): string =>
  named(
    'last_imported',
    `select f.id from ${queue} f force index (primary) where f.id = ${idParameter} lock in share mode`,
  );

/** What rows cause: data that does not fit, a constraint, an error that a trigger raises. */
function isRefusal(error: unknown): error is Error {
  const kind = classifyError(error);
  return error instanceof Error && (kind === 'value' || kind === 'row');
}
