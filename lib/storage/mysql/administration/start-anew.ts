import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { edited, followers, insertAnew, markRetried } from '../statements/admin.js';
import { answerOf, idsOf, rowsOf } from './answered.js';
import { jsonIds } from './id-list.js';

/** What an edited attempt has in place of what the one before has. */
export interface EditedColumns {
  readonly payload: string | null;
  readonly hash: string | null;
  readonly metadata: string;
}

/**
 * Starts failed tasks anew; answers the ids of their new attempts.
 *
 * @param run of a transaction that has locked these attempts
 */
export async function startAnew(
  run: Run,
  tables: QueueTables,
  ids: readonly string[],
  changes?: EditedColumns,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const list = jsonIds(ids);
  const { insertId, changed } = changes
    ? await answerOf(run, insertAnew(tables, edited), [changes.payload, changes.hash, changes.metadata, list])
    : await answerOf(run, insertAnew(tables), [list]);
  if (changed === 0) return [];
  const anew = await rowsOf(run, followers(tables), [list, insertId]);
  await run(markRetried(tables), [jsonIds(anew.map((row) => String(row['id_anterior'])))]);
  return idsOf(anew);
}
