import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { deleteAttempts } from '../statements/bulk.js';
import { familyIds, lockPurgeable } from '../statements/purge.js';
import { changedBy, rowsOf } from './answered.js';
import { jsonIds } from './id-list.js';

/**
 * Deletes the families of which all attempts are among these and can be locked; returns how many rows. What belongs to a family is
 * read behind the locks: only then it is certain to have an attempt that an operator's retry has just inserted.
 *
 * @param run of a transaction
 */
export async function purgeWhole(
  run: Run,
  tables: Pick<QueueTables, 'queue'>,
  ids: readonly string[],
): Promise<number> {
  const locked = await rowsOf(run, lockPurgeable(tables), [jsonIds(ids)]);
  if (locked.length === 0) return 0;
  const ours = new Set(locked.map((row) => row['id']));
  const list = jsonIds([...new Set(locked.map((row) => String(row['family'])))]);
  const members = await rowsOf(run, familyIds(tables), [list, list, list, list]);
  const broken = new Set(members.filter((row) => !ours.has(row['id'] ?? null)).map((row) => row['family']));
  const gone = locked.filter((row) => !broken.has(row['family'] ?? null)).map((row) => String(row['id']));
  return gone.length === 0 ? 0 : changedBy(run, deleteAttempts(tables), [jsonIds(gone)]);
}
