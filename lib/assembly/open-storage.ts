import type { OpenedStorage, StorageOpening } from './opened-storage.js';
import { openPostgres } from './postgres.js';

/** Opens the database that the connection leads to, and prepares the queue's tables. */
export async function openStorage(opening: StorageOpening): Promise<OpenedStorage> {
  const { connection } = opening.options;
  if (connection.driver === 'postgres') return openPostgres(opening, connection.address);
  const [{ openMysql }, { dialectOf }] = await Promise.all([
    import('./mysql.js'),
    import('../storage/mysql/singlestore/singlestore-dialect.js'),
  ]);
  return openMysql(opening, connection.address, dialectOf(connection.dialect ?? 'mysql'));
}
