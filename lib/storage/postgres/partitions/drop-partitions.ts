import { TarefaError } from '../../../errors.js';
import { readText } from '../../columns.js';
import { blamesRow } from '../../error-kind.js';
import type { PurgedAtOnce } from '../../upkeep.js';
import type { QueueTables } from '../identifiers.js';
import { classifyError } from '../postgres-errors.js';
import { purgeWhole } from '../purging.js';
import { readIds } from '../read-rows.js';
import type { QueueStatements } from '../statements.js';
import {
  countPartition,
  findStraddling,
  hasStraddling,
  holdsNeeded,
  partitionAges,
  summarizePartition,
} from '../statements/partition-purge.js';
import { readPartitions, type Partition } from './read-partitions.js';
import { codeOf, shortTransaction, type RunTransaction } from './short-transaction.js';

/**
 * Rows of a full partition wait until it can be dropped whole, but at most longer by this part of their age: then they are
 * purged one by one.
 */
const longestWait = 0.25;
/** The least id of `bigint`. */
const leastId = -(2n ** 63n);
/** Rows of tasks at its edges that are deleted by one statement. */
const blockRows = 1_000;

/**
 * Drops the partitions in which every task has ended and is old, with the few rows of those tasks in other partitions. Says
 * up to which id rows are left to be purged one by one.
 */
export async function dropPartitions(
  run: RunTransaction,
  tables: QueueTables,
  statements: QueueStatements,
  olderThanDays: number,
): Promise<PurgedAtOnce> {
  const partitions = await run((tx) => readPartitions(tx, tables));
  let rows = 0;
  for (const partition of partitions?.ranges ?? []) {
    // Ids of it may still be given.
    if (partition.to > (partitions?.lastId ?? 0n)) break;
    const before = String(partition.from ?? leastId);
    const { isOld, waits } = await look(run, partition, olderThanDays);
    try {
      const dropped = isOld
        ? await drop(run, tables, statements, partition, olderThanDays)
        : { rows: 0, whole: false };
      rows += dropped.rows;
      if (waits && !dropped.whole) return { rows, before, problem: undefined };
    } catch (problem) {
      if (!isForRows(problem)) return { rows, before, problem: problem as Error };
    }
  }
  return { rows, before: undefined, problem: undefined };
}

/**
 * True where the rows are deleted one by one instead: the role may not drop the partition, another table refers to it, a row at its
 * edge is refused, or looking through all of it takes too long.
 */
function isForRows(problem: unknown): boolean {
  const kind = classifyError(problem);
  return ['42501', '2BP01'].includes(codeOf(problem) ?? '') || blamesRow(kind) || kind === 'timeout';
}

interface Standing {
  /** True when its last rows are old, so that all may be. */
  readonly isOld: boolean;
  /** True when it is worth waiting for that, or for the last of its tasks. */
  readonly waits: boolean;
}

/** What went, and whether it was all. */
interface Gone {
  readonly rows: number;
  readonly whole: boolean;
}

async function look(run: RunTransaction, partition: Partition, olderThanDays: number): Promise<Standing> {
  return run(async (tx) => {
    const [ages] = (await tx.query(partitionAges(partition))).rows;
    const first = Number(ages?.['first_days'] ?? Infinity);
    const last = Number(ages?.['last_days'] ?? Infinity);
    const waited = first === Infinity ? 0 : first - olderThanDays;
    return { isOld: last > olderThanDays, waits: waited <= olderThanDays * longestWait };
  });
}

async function drop(
  run: RunTransaction,
  tables: QueueTables,
  statements: QueueStatements,
  partition: Partition,
  olderThanDays: number,
): Promise<Gone> {
  if (await isNeeded(run, partition, olderThanDays)) return { rows: 0, whole: false };
  const edges = await purgeEdges(run, tables, statements, partition, olderThanDays);
  const rows = edges.whole ? await countOver(run, partition, olderThanDays) : undefined;
  if (rows === undefined) return { rows: edges.rows, whole: false };
  const dropped = await shortTransaction(run, async (tx) => {
    await tx.query(`lock table only ${tables.queue} in access exclusive mode`);
    await tx.query('set local enable_seqscan = off');
    // Under the lock nothing can change; it may have changed since it was looked at.
    const [state] = (await tx.query(holdsNeeded(partition), [olderThanDays])).rows;
    const [others] = (await tx.query(hasStraddling(tables, partition))).rows;
    if (state?.['needed'] !== false || others?.['straddles'] !== false) return false;
    await tx.query(`drop table ${partition.table}`);
    return true;
  });
  if (dropped === undefined) throw busy(tables, partition);
  return { rows: edges.rows + (dropped ? rows : 0), whole: dropped };
}

async function isNeeded(run: RunTransaction, partition: Partition, olderThanDays: number): Promise<boolean> {
  return run(async (tx) => {
    await tx.query(summarizePartition(partition));
    await tx.query('set local enable_seqscan = off');
    const [state] = (await tx.query(holdsNeeded(partition), [olderThanDays])).rows;
    return state?.['needed'] !== false;
  });
}

/** Reads the whole partition without a lock; undefined when an attempt has not ended, whatever its status. */
async function countOver(
  run: RunTransaction,
  partition: Partition,
  olderThanDays: number,
): Promise<number | undefined> {
  const { rows } = await run((tx) => tx.query(countPartition(partition), [olderThanDays]));
  return rows[0]?.['kept'] === 0 ? Number(rows[0]['rows']) : undefined;
}

/** Deletes the tasks with attempts inside and outside; `whole` when none of these is left. */
async function purgeEdges(
  run: RunTransaction,
  tables: QueueTables,
  statements: QueueStatements,
  partition: Partition,
  olderThanDays: number,
): Promise<Gone> {
  const found = await run(async (tx) => {
    await tx.query('set local enable_seqscan = off; set local jit = off');
    return (await tx.query(findStraddling(tables, partition), [olderThanDays, blockRows])).rows;
  });
  if (found[0]?.['kept'] !== 0) return { rows: 0, whole: false };
  let rows = 0;
  let asked = 0;
  for (const block of found.map((row) => readIds(readText(row['ids'])) ?? [])) {
    asked += block.length;
    rows += await run((tx) => purgeWhole(tx, statements, block));
  }
  // Otherwise another session has locked some: left for the next round.
  return { rows, whole: rows === asked };
}

function busy({ qualifiedName }: QueueTables, { name }: Partition): TarefaError {
  return new TarefaError(
    'SCHEMA_BUSY',
    `${name} is no longer needed but could not be dropped, because long transactions were using ${qualifiedName} all the time: the next purge will try again`,
  );
}
