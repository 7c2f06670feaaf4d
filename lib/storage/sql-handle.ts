import { TarefaError } from '../errors.js';
import { shownValue } from '../values/shown-value.js';

/**
 * Anything that runs one SQL statement with `$1` placeholders: a `pg` client inside a transaction, a pool, or
 * what an adapter (`fromTypeOrm`, `fromDrizzle` …) makes of another library's transaction. The library never begins,
 * commits or rolls back through it.
 */
export interface SqlHandle {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** The parts of a `pg` client and pool that tell whether a transaction is open. */
interface PgLike {
  /** Of a client: `I` outside of a transaction, null before the first answer. */
  readonly getTransactionStatus?: () => string | null;
  /** Of a client: false while answers are awaited. */
  readonly readyForQuery?: boolean;
  /** Of a pool. */
  readonly totalCount?: number;
}

/**
 * Refuses what runs no SQL, and a handle of `pg` that is in no transaction though one was asked for: what it inserts would
 * commit alone.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readTransaction(tx: unknown): SqlHandle {
  const isHandle = (typeof tx === 'object' && tx !== null) || typeof tx === 'function';
  const { query, getTransactionStatus, readyForQuery, totalCount } = isHandle ? partsOf(tx) : {};
  if (typeof query !== 'function') {
    throw new TarefaError(
      'INPUT_INVALID',
      `tx must be a client with query(), or what fromTypeOrm, fromPrisma, fromDrizzle or another adapter makes of a transaction (got ${shownValue(tx)}); nothing was inserted`,
    );
  }
  if (typeof totalCount === 'number') {
    throw notInTransaction('a pool, which runs each statement on whatever connection is free');
  }
  const isIdle = typeof getTransactionStatus === 'function' && readyForQuery === true;
  if (isIdle && getTransactionStatus.call(tx) === 'I') throw notInTransaction('a client without one');
  return tx as SqlHandle;
}

/** Proxies of other libraries may throw when they are asked for what they do not have. */
function partsOf(tx: object): Partial<SqlHandle & PgLike> {
  try {
    const { query, getTransactionStatus, readyForQuery, totalCount } = tx as Partial<SqlHandle & PgLike>;
    return { query, getTransactionStatus, readyForQuery, totalCount } as Partial<SqlHandle & PgLike>;
  } catch (cause) {
    throw new TarefaError(
      'INPUT_INVALID',
      'tx cannot be read: it threw an error when asked for its query(); nothing was inserted',
      { cause },
    );
  }
}

/** What is said of a handle that is in no transaction. */
export function notInTransaction(what: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `a transaction was asked for, and this is ${what}: begin one, or leave tx out to insert alone; nothing was inserted`,
  );
}
