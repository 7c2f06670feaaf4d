import type { SqlHandle } from '../sql-handle.js';
import type { PurgeableWindow, PurgeLook } from '../upkeep.js';
import { readText } from '../columns.js';
import { readIds } from './read-rows.js';
import type { QueueStatements } from './statements.js';

/** Every part of these statements has its index, whatever the planner believes of a table that grew since. */
export const byIndexes = `set local enable_seqscan = off; set local enable_bitmapscan = off; set local jit = off`;

/** Before the least id that PostgreSQL has. */
const beforeAll = '-9223372036854775808';

/** Reads one window of {@link PurgeLook} in a transaction of its own. */
export async function findPurgeable(
  tx: SqlHandle,
  { findPurgeable: find }: QueueStatements,
  { olderThanDays, after = beforeAll, before, rows, blockRows }: PurgeLook,
): Promise<PurgeableWindow> {
  await tx.query(byIndexes);
  const found = (await tx.query(find.text, [olderThanDays, after, rows, blockRows, before ?? null])).rows;
  const [first] = found;
  return {
    blocks: found.map((row) => readIds(readText(row['ids'])) ?? []).filter((ids) => ids.length > 0),
    last: readText(first?.['last']) ?? undefined,
    keptFrom: readText(first?.['kept_from']) ?? undefined,
    goesOn: first?.['goes_on'] === true,
  };
}

/** Deletes one block in a transaction of its own; returns how many rows. */
export async function purgeWhole(
  tx: SqlHandle,
  { lockPurgeable, purge }: QueueStatements,
  ids: readonly string[],
): Promise<number> {
  await tx.query(byIndexes);
  const [found] = (await tx.query(lockPurgeable.text, [[...ids]])).rows;
  const locked = readIds(readText(found?.['ids'])) ?? [];
  if (locked.length === 0) return 0;
  const { rows } = await tx.query(purge.text, [locked]);
  return Number(rows[0]?.['gone']);
}
