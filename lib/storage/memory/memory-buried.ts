import { untreatedMessage, type BuriedChoice } from '../buried.js';
import { column, statusColumn } from '../columns.js';
import type { BuriedCounts } from '../status-report.js';
import { firstIdOf, hasFailedForGood, isDead, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

/** True of an attempt that is what a filter asks of tasks that gave up. */
export function isBuriedAs(table: MemoryTable, row: MemoryRow, asked: BuriedChoice): boolean {
  if (typeof asked === 'boolean') return isBuried(row) === asked;
  return isBuried(row) && isTreated(table, row) === (asked === 'treated');
}

/** How many tasks have given up and stand so, and how many of them a dead handler has dealt with. */
export function countBuried(table: MemoryTable): BuriedCounts {
  const buried = table.rows.filter(isBuried);
  const treated = buried.filter((row) => isTreated(table, row)).length;
  return { treated, untreated: buried.length - treated, isCapped: false };
}

/** True of the last attempt of a task that gave up: it ran out of attempts, or was buried. */
function isBuried(row: MemoryRow): boolean {
  return row[column.exhausted] === 'true' && !isDead(row) && hasFailedForGood(row);
}

function isTreated(table: MemoryTable, row: MemoryRow): boolean {
  const first = deadTasksOf(table, row).map(firstIdOf);
  return table.rows.some((attempt) => first.includes(firstIdOf(attempt)) && hasTreated(attempt));
}

function deadTasksOf(table: MemoryTable, row: MemoryRow): readonly MemoryRow[] {
  return table.rows.filter(
    (dead) =>
      isDead(dead) &&
      dead['id_anterior'] == null &&
      dead[column.liveId] === firstIdOf(row) &&
      dead['rodada'] === row['rodada'],
  );
}

function hasTreated(attempt: MemoryRow): boolean {
  const hasSucceeded = attempt[column.status] === statusColumn.succeeded;
  return hasSucceeded && !(attempt[column.message] ?? '').startsWith(untreatedMessage);
}
