import { column, statusColumn } from '../columns.js';
import { mostLosses } from '../failure-rule.js';
import { copyOf, firstIdOf, instant, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

/** What the next attempt of a chain has from the attempt before; a payload only where it was edited. */
export function followerOf(row: MemoryRow): MemoryRow {
  const isFirst = row[column.firstAttemptId] == null;
  return {
    ...copyOf(row),
    [column.firstAttemptId]: firstIdOf(row),
    [column.firstDueAt]: row[column.firstDueAt] ?? null,
    [column.payload]: isFirst ? null : (row[column.payload] ?? null),
    [column.dead]: row[column.dead] ?? null,
    [column.liveId]: row[column.liveId] ?? null,
    id_anterior: row[column.id] ?? null,
  };
}

/** Inserts the first attempt of the dead chain of a task that was lost; answers its id. */
export function startDeadChain(table: MemoryTable, row: MemoryRow): string {
  const dead = table.add({
    ...copyOf(row),
    [column.payload]: table.payloadOf(row),
    [column.dead]: 'true',
    [column.liveId]: firstIdOf(row),
  });
  return String(dead[column.id]);
}

/** Starts a failed task anew by an attempt with the number 1 in the next round; answers the new attempt's id. */
export function startAnew(table: MemoryTable, row: MemoryRow, changes: MemoryRow = {}): string {
  const now = instant(table.nowMs);
  Object.assign(row, { [column.retried]: 'true', [column.nextAttemptAt]: now });
  const anew = table.add({
    ...followerOf(row),
    [column.dueAt]: now,
    [column.status]: statusColumn.pending,
    // What killed its workers runs alone again, and has one chance.
    perdas: String(Math.min(Number(row['perdas']), mostLosses - 1)),
    rodada: String(Number(row['rodada']) + 1),
    ...changes,
  });
  return String(anew[column.id]);
}
