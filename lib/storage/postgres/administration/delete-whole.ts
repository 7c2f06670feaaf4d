import type { SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import { deleteTasks, lockTasks } from '../statements/bulk.js';

/**
 * Deletes tasks of which nothing runs, each with all its attempts and the dead tasks it left; deliveries of a publication are
 * tasks of their own and stay.
 *
 * @param tx a transaction: the rows are locked by one statement and deleted by the next, which sees what was committed
 * until then
 * @param firstIds of their first attempts
 * @param options.skips whether what another session has locked is left out, instead of waited for
 * @returns how many tasks, and how many attempts they were
 */
export async function deleteWhole(
  tx: SqlHandle,
  tables: Pick<QueueTables, 'queue'>,
  firstIds: readonly string[],
  { skips }: { readonly skips: boolean },
): Promise<{ readonly done: number; readonly attempts: number }> {
  const { rows: locked } = await tx.query(lockTasks(tables, skips), [firstIds]);
  const ids = locked.map((row) => String(row['id']));
  const [row] = (await tx.query(deleteTasks(tables), [firstIds, ids])).rows;
  return { done: Number(row?.['done'] ?? 0), attempts: Number(row?.['attempts'] ?? 0) };
}
