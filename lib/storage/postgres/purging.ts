import type { SqlHandle } from '../../client/sql-handle.js';
import type { PurgeableWindow, PurgeLook } from '../storage.js';
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
    blocks: found.map((row) => readIds(row['ids'])).filter((ids) => ids.length > 0),
    last: textOf(first?.['last']),
    keptFrom: textOf(first?.['kept_from']),
    goesOn: first?.['goes_on'] === true,
  };
}

/** Deletes one block in a transaction of its own; answers how many rows. */
export async function purgeWhole(
  tx: SqlHandle,
  { lockPurgeable, purge }: QueueStatements,
  ids: readonly string[],
): Promise<number> {
  await tx.query(byIndexes);
  const locked = readIds((await tx.query(lockPurgeable.text, [[...ids]])).rows[0]?.['ids']);
  if (locked.length === 0) return 0;
  const { rows } = await tx.query(purge.text, [locked]);
  return Number(rows[0]?.['gone']);
}

/** An array of ids as PostgreSQL prints it: a thousand of them are read at once. */
export function readIds(text: unknown): readonly string[] {
  return typeof text === 'string' && text.length > 2 ? text.slice(1, -1).split(',') : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
