import { column, statusColumn } from '../columns.js';
import {
  mostNamed,
  type CheckRequest,
  type Inconsistency,
  type InconsistencyKind,
} from '../inconsistencies.js';
import { dueMs, firstIdOf, hasFailed, isDead, isRunning, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

const dayMs = 86_400_000;

/** Rows of the table that must not be there: the rules of `findInconsistencies`. */
export function findInconsistencies(
  table: MemoryTable,
  { since, newest, purgeMaxAgeDays }: CheckRequest,
): readonly Inconsistency[] {
  const { rows, workers, nowMs } = table;
  const after = newest === undefined ? 0 : Number(rows.at(-1)?.[column.id] ?? 0) - newest;
  const isMeant = (row: MemoryRow): boolean =>
    Number(row[column.id]) > after &&
    (since === undefined || Date.parse(row[column.finishedAt] ?? row[column.dueAt] ?? '') >= since.getTime());
  const deliveriesOf = (row: MemoryRow): number =>
    rows.filter(
      (other) =>
        other[column.publicationId] === firstIdOf(row) && other['id_anterior'] == null && !isDead(other),
    ).length;
  const isHeld = (row: MemoryRow): boolean => {
    const worker = workers.get(String(row['executor']));
    return worker !== undefined && worker.stoppedAt === undefined;
  };
  const rules: Readonly<Record<InconsistencyKind, (row: MemoryRow) => boolean>> = {
    'no-next-attempt': (row) => isMeant(row) && lacksNextAttempt(table, row),
    'no-dead-task': (row) => isMeant(row) && lacksDeadTask(table, row),
    'missing-deliveries': (row) =>
      row[column.status] === statusColumn.succeeded &&
      isMeant(row) &&
      dueMs(row) > nowMs - purgeMaxAgeDays * dayMs &&
      deliveriesOf(row) < promisedDeliveries(row),
    'no-worker': (row) => isRunning(row) && !isHeld(row),
  };
  return Object.entries(rules)
    .map(([kind, isWrong]) => ({ kind: kind as InconsistencyKind, found: rows.filter(isWrong) }))
    .filter(({ found }) => found.length > 0)
    .map(({ kind, found }) => ({
      kind,
      count: found.length,
      first: Number(found[0]?.[column.id]),
      ids: found
        .slice(-mostNamed)
        .map((row) => String(row[column.id]))
        .toReversed(),
    }))
    .toSorted((one, other) => one.first - other.first)
    .map(({ kind, count, ids }) => ({ kind, count, ids }));
}

/** True of a failed attempt that was retried, by a worker or an operator, and that none follows. */
export function lacksNextAttempt({ rows }: MemoryTable, row: MemoryRow): boolean {
  const isRetried = row[column.retried] === 'true' && hasFailed(row);
  return isRetried && !rows.some((other) => other['id_anterior'] === row[column.id]);
}

/** True of the last attempt of a task that ran out of attempts and has no dead task. */
export function lacksDeadTask({ rows }: MemoryTable, row: MemoryRow): boolean {
  const isLost = row[column.exhausted] === 'true' && row[column.retried] !== 'true' && !isDead(row);
  const isItsDeadTask = (other: MemoryRow): boolean =>
    isDead(other) &&
    other['id_anterior'] == null &&
    other[column.liveId] === firstIdOf(row) &&
    other['rodada'] === row['rodada'];
  return isLost && hasFailed(row) && !rows.some(isItsDeadTask);
}

/** By what a publication says itself; 0 of any other row. */
function promisedDeliveries(row: MemoryRow): number {
  const isPublication = row[column.publication] === 'true' && !isDead(row);
  return isPublication ? Number(/^delivered to (\d+) /.exec(row[column.message] ?? '')?.[1] ?? 0) : 0;
}
