import type { SqlHandle } from '../sql-handle.js';
import type { WaitingRoute } from '../waiting-route.js';
import { readWaiting } from './queue-looks.js';
import { statusSettings, walkSettings } from './statements/status.js';
import { waitingRoutes } from './statements/waiting.js';
import type { QueueTables } from './identifiers.js';

/** Where dead entries of the index have piled up, a look may take long: it is given up then. */
const timeoutMs = 2_000;

/**
 * Reads which routes have attempts that are due, and who serves them, for a process without a worker's connection.
 *
 * @param transaction runs its argument inside one transaction
 * @param interop true when workers of nsj-queue-lib serve the same table
 */
export function readWaitingRoutes(
  transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>,
  tables: QueueTables,
  interop: boolean,
): Promise<readonly WaitingRoute[]> {
  return transaction(async (tx) => {
    await tx.query(statusSettings(timeoutMs));
    await tx.query(walkSettings);
    return readWaiting((await tx.query(waitingRoutes(tables).text)).rows, interop);
  });
}
