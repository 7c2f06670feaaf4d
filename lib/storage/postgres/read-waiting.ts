import type { SqlHandle } from '../sql-handle.js';
import type { WaitingRoute } from '../waiting-route.js';
import { readBoolean } from '../columns.js';
import { readTextBytes } from './readable-rows.js';
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

/**
 * Reads the answer of `waiting_routes`.
 *
 * @param interop true when workers of nsj-queue-lib serve the same table: they take every topic and register nowhere
 */
export function readWaiting(
  rows: readonly Readonly<Record<string, unknown>>[],
  interop: boolean,
): readonly WaitingRoute[] {
  return rows.map((row) => ({
    route: readTextBytes(row['route'], row['encoding']),
    waitingMs: Number(row['waiting_ms']),
    served: interop || readBoolean(row['served']),
    workerless: !interop && readBoolean(row['workerless']),
  }));
}
