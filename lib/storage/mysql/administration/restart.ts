import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { edited, followers, insertAnew, markRetried } from '../statements/admin.js';
import { changedBy, idsOf, rowsOf } from './answered.js';
import { jsonIds } from './id-list.js';

/** What an edited attempt has in place of what the one before has. */
export interface EditedColumns {
  readonly payload: string | null;
  readonly hash: string | null;
  readonly metadata: string;
}

/**
 * Starts failed tasks again; returns the ids of their new attempts.
 *
 * @param run of a transaction that has locked these attempts
 */
export async function restart(
  run: Run,
  tables: QueueTables,
  ids: readonly string[],
  changes?: EditedColumns,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const list = jsonIds(ids);
  const before = new Set(idsOf(await rowsOf(run, followers(tables), [list])));
  const changed = changes
    ? await changedBy(run, insertAnew(tables, edited), [
        changes.payload,
        changes.hash,
        changes.metadata,
        list,
      ])
    : await changedBy(run, insertAnew(tables), [list]);
  if (changed === 0) return [];
  const after = await rowsOf(run, followers(tables), [list]);
  const restarted = after.filter((row) => !before.has(String(row['id'])));
  await run(markRetried(tables), [jsonIds(restarted.map((row) => String(row['id_anterior'])))]);
  return idsOf(restarted);
}
