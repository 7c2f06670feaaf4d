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

/** A handle that its adapter cannot check when it is made. */
export interface CheckedHandle extends SqlHandle {
  /** This handle, refusing a statement outside of a transaction. */
  readonly inTransaction: SqlHandle;
}

/** What drivers' own clients and pools have, by which they are told from handles. */
interface DriverLike {
  /** Of a client of `pg`: `I` outside of a transaction, null before the first answer. */
  readonly getTransactionStatus?: () => string | null;
  /** Of a client of `pg`: false while answers are awaited. */
  readonly readyForQuery?: boolean;
  /** Of a pool of `pg`. */
  readonly totalCount?: number;
  /** Of a connection of `mysql2`. */
  readonly changeUser?: unknown;
  /** Of a pool of `mysql2`. */
  readonly getConnection?: unknown;
}

type TransactionLike = Partial<CheckedHandle & DriverLike>;

/**
 * Refuses what runs no SQL, a driver's handle that needs an adapter, and a handle of `pg` that is in no transaction though one
 * was asked for: what it inserts would commit alone.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readTransaction(tx: unknown): SqlHandle {
  const isHandle = (typeof tx === 'object' && tx !== null) || typeof tx === 'function';
  const parts = isHandle ? partsOf(tx) : {};
  if (typeof parts.query !== 'function') {
    throw new TarefaError(
      'INPUT_INVALID',
      `tx must be a client with query(), or a transaction wrapped with fromTypeOrm, fromPrisma, fromDrizzle or another adapter (got ${shownValue(tx)}); nothing was done`,
    );
  }
  const { getTransactionStatus, readyForQuery, totalCount, inTransaction } = parts;
  if (parts.getConnection !== undefined || parts.changeUser !== undefined) {
    throw new TarefaError(
      'INPUT_INVALID',
      'tx comes from mysql2: begin a transaction on a connection and wrap it with fromMysql2(); nothing was done',
    );
  }
  if (typeof totalCount === 'number') {
    throw notInTransaction('a pool, which runs each statement on whatever connection is free');
  }
  const isIdle = typeof getTransactionStatus === 'function' && readyForQuery === true;
  if (isIdle && getTransactionStatus.call(tx) === 'I')
    throw notInTransaction('a client without a transaction');
  return typeof inTransaction?.query === 'function' ? inTransaction : (tx as SqlHandle);
}

/** Proxies of other libraries may throw when they are asked for what they do not have. */
function partsOf(tx: object): TransactionLike {
  const like = tx as TransactionLike;
  try {
    return {
      query: like.query,
      inTransaction: like.inTransaction,
      getTransactionStatus: like.getTransactionStatus,
      readyForQuery: like.readyForQuery,
      totalCount: like.totalCount,
      changeUser: like.changeUser,
      getConnection: like.getConnection,
    } as TransactionLike;
  } catch (cause) {
    throw new TarefaError(
      'INPUT_INVALID',
      'tx cannot be read: it threw an error when asked for its query(); nothing was done',
      { cause },
    );
  }
}

/**
 * Runs a statement of ours through a user's handle. One that answers something else is the transaction of a library that has an
 * adapter.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export async function askHandle(
  handle: SqlHandle,
  text: string,
  values: unknown[],
): Promise<Record<string, unknown>[]> {
  const answer: unknown = await handle.query(text, values);
  if (typeof answer === 'object' && answer !== null && 'rows' in answer && Array.isArray(answer.rows)) {
    return answer.rows as Record<string, unknown>[];
  }
  throw new TarefaError(
    'INPUT_INVALID',
    'tx answered a statement without { rows }: wrap it with fromTypeOrm, fromPrisma, fromDrizzle or another adapter, and roll back',
  );
}

/** What is said of a handle that is in no transaction. */
export function notInTransaction(what: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `a transaction is required, but this is ${what}: begin one, or leave tx out to commit alone; nothing was done`,
  );
}
