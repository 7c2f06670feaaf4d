import { closingReserves } from '../timing/closing-time.js';
import type { OpenedStorage, StorageOpening } from './opened-storage.js';
import { openPostgres } from './postgres.js';

/** Opens the database that the connection leads to, and prepares the queue's tables. */
export async function openStorage(opening: StorageOpening): Promise<OpenedStorage> {
  const { options, closing, onClose } = opening;
  if (!options.bell) return openDatabase(opening);
  const { TcpBell } = await import('../coordination/tcp/tcp-bell.js');
  // Nobody rings or listens before the queue has its name.
  const serverBell = new TcpBell({ ...options.bell, queue: () => storage.prepared.qualifiedName });
  onClose(() => closing.step(() => serverBell.close(), closingReserves.sessions));
  const storage: OpenedStorage = await openDatabase({ ...opening, serverBell });
  return storage;
}

async function openDatabase(opening: StorageOpening): Promise<OpenedStorage> {
  const { connection } = opening.options;
  if (connection.driver === 'postgres') return openPostgres(opening, connection.address);
  const [{ openMysql }, { dialectOf }] = await Promise.all([
    import('./mysql.js'),
    import('../storage/mysql/singlestore/singlestore-dialect.js'),
  ]);
  return openMysql(opening, connection.address, dialectOf(connection.dialect ?? 'mysql'));
}
