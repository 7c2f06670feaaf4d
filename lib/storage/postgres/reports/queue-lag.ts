import { readPlaces } from '../../read-status.js';
import type { QueueTables } from '../identifiers.js';
import type { RunTransaction } from '../partitions/short-transaction.js';
import { readInTransaction } from '../readable-rows.js';
import { pendingPlaces, statusSettings, walkSettings } from '../statements/status.js';

/** Where dead entries of the index have piled up, a look may take long: it is given up then. */
const timeoutMs = 2_000;

/** How long the pending task that is due for longest has waited, in ms; 0 when none waits. */
export async function readQueueLag(transaction: RunTransaction, tables: QueueTables): Promise<number> {
  return readInTransaction<number>(transaction, async (tx, read) => {
    await tx.query(statusSettings(timeoutMs));
    await tx.query(walkSettings);
    const { oldest } = readPlaces((await read(tx, pendingPlaces(tables))).rows);
    return Math.max(0, oldest?.waitingMs ?? 0);
  });
}
