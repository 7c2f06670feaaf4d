import type { BellCarrier } from '../coordination/kept-connection.js';
import { RemoteBell } from '../coordination/remote-bell.js';
import { errorText } from '../observability/error-text.js';
import type { ResolvedBell } from '../options/bell-options.js';
import { closingReserves } from '../timing/closing-time.js';
import type { OpenedStorage, StorageOpening } from './opened-storage.js';
import { openPostgres } from './postgres.js';

/** Opens the database that the connection leads to, and prepares the queue's tables. */
export async function openStorage(opening: StorageOpening): Promise<OpenedStorage> {
  const { options, events, closing, onClose } = opening;
  if (!options.bell) return openDatabase(opening);
  // Nobody rings or listens before the queue has its name.
  const queue = (): string => storage.prepared.qualifiedName;
  const lost = (error: unknown): void =>
    events.emit('warning', {
      message: `rings of this process are lost, so workers find its tasks only when they poll: ${errorText(error)}`,
    });
  const remoteBell = new RemoteBell(await carrierOf(options.bell, queue), queue, lost);
  onClose(() => closing.step(() => remoteBell.close(), closingReserves.sessions));
  const storage: OpenedStorage = await openDatabase({ ...opening, remoteBell });
  return storage;
}

/** Loads what carries the rings, where it is used. */
async function carrierOf(bell: ResolvedBell, queue: () => string): Promise<BellCarrier> {
  switch (bell.kind) {
    case 'redis':
      return (await import('../coordination/brokers/redis-carrier.js')).redisCarrier(bell);
    case 'nats':
      return (await import('../coordination/brokers/nats-carrier.js')).natsCarrier(bell);
    default:
      return (await import('../coordination/tcp/tcp-carrier.js')).tcpCarrier(bell, queue);
  }
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
