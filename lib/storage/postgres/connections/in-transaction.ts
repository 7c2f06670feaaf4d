import type { PoolClient } from 'pg';
import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { Lender } from './own-pool.js';
import { ownTypes } from './own-types.js';

/** Runs work in a transaction of its own on a connection of a pool. One whose transaction failed is not used again. */
export async function inTransaction<T>(lender: Lender, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  const client = await lender.connect();
  const handle = ownHandle(client);
  try {
    await handle.query('begin');
    const result = await work(handle);
    await handle.query('commit');
    client.release();
    return result;
  } catch (error) {
    await handle.query('rollback').catch(() => undefined);
    client.release(error instanceof TarefaError ? undefined : (error as Error));
    throw error;
  }
}

/** Statements of the library on a connection whose types an application may read in its own way. */
export function ownHandle(client: PoolClient): SqlHandle {
  return {
    query: (text, values) => client.query<Record<string, unknown>>({ text, values, types: ownTypes }),
  };
}
