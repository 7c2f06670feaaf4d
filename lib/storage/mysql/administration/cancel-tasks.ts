import {
  readCancelled,
  type Cancellation,
  type CancelledAttempt,
  type CancelTarget,
} from '../../cancellation.js';
import { readBoolean, type Row } from '../../columns.js';
import { askHandle, type SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import {
  attemptsOfTasks,
  cancelLocked,
  lockStanding,
  openWithKey,
  successorsOf,
} from '../statements/cancel.js';

type Tables = Pick<QueueTables, 'queue'>;

/** Attempts of one statement: a prepared one takes at most 65,535 parameters. */
const mostIds = 1_000;

/**
 * Cancels tasks that wait, or that a worker of this library runs. What is meant is found first, then locked by its keys: a walk that
 * locks would wait for rows that are not meant. A task that has gone on since it was found is followed to its last attempt.
 *
 * @param tx a transaction, the library's or the caller's
 */
export async function cancelTasks(
  tx: SqlHandle,
  tables: Tables,
  target: CancelTarget,
  { message, by }: Cancellation,
): Promise<readonly CancelledAttempt[]> {
  const cancelled: CancelledAttempt[] = [];
  const seen = new Set<string>();
  for (let ids = await find(tx, tables, target); ids.length > 0;) {
    for (const id of ids) seen.add(id);
    const standing = await inBlocks(ids.toSorted(byNumber), (block) =>
      askHandle(tx, lockStanding(tables, block.length), block),
    );
    const open = standing.filter((row) => readBoolean(row['is_open']));
    await inBlocks(idsOf(open), (block) =>
      askHandle(tx, cancelLocked(tables, block.length), [message, by, ...block]),
    );
    cancelled.push(...open.map(readCancelled));
    const retried = idsOf(standing.filter((row) => readBoolean(row['reenfileirado'])));
    const next = await inBlocks(retried, (block) => askHandle(tx, successorsOf(tables, block.length), block));
    ids = idsOf(next).filter((id) => !seen.has(id));
  }
  return cancelled;
}

async function find(tx: SqlHandle, tables: Tables, target: CancelTarget): Promise<readonly string[]> {
  if ('ids' in target) {
    const found = await inBlocks(target.ids, (block) =>
      askHandle(tx, attemptsOfTasks(tables, block.length), [...block, ...block]),
    );
    return [...new Set(idsOf(found))];
  }
  const { topic, externalKey } = target;
  const values = topic === null ? [externalKey] : [externalKey, topic];
  return idsOf(await askHandle(tx, openWithKey(tables, topic), [...values, ...values]));
}

/** Asks of so many ids at once. */
async function inBlocks(
  ids: readonly string[],
  ask: (block: string[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let from = 0; from < ids.length; from += mostIds) {
    rows.push(...(await ask(ids.slice(from, from + mostIds))));
  }
  return rows;
}

function idsOf(rows: readonly Row[]): readonly string[] {
  return rows.map((row) => String(row['id']));
}

function byNumber(one: string, other: string): number {
  return Number(BigInt(one) - BigInt(other));
}
