import type { TaskRecord } from '../../task.js';
import { readTaskRecord, taskState } from '../columns.js';
import type { TaskSelection } from '../task-selection.js';
import { isBuriedAs } from './memory-buried.js';
import { firstIdOf, type MemoryRow } from './memory-row.js';
import type { MemoryTable } from './memory-table.js';

/** Attempts that a selection means, by id. */
export function select(table: MemoryTable, selection: TaskSelection): readonly MemoryRow[] {
  const { ids } = selection;
  const tasks = ids && new Set(ids.flatMap((id) => firstOf(table, id)));
  return table.rows.filter((row) => (!tasks || tasks.has(firstIdOf(row))) && isMeant(table, row, selection));
}

function firstOf(table: MemoryTable, id: string): readonly string[] {
  const row = table.row(id);
  return row ? [firstIdOf(row)] : [];
}

function isMeant(table: MemoryTable, row: MemoryRow, selection: TaskSelection): boolean {
  const task = readTaskRecord(table.resolved(row));
  const { states, topic, subscriptionId, externalKey, tenant, group, publicationId } = selection;
  const { since, until, dead, message, payload, latest, buried } = selection;
  return [
    states === undefined || states.some((state) => state === taskState(task)),
    topic === undefined || (topic === null ? (task.topic ?? '') === '' : task.topic === topic),
    isSame(task.subscriptionId, subscriptionId),
    isSame(task.externalKey, externalKey),
    isSame(task.tenant, tenant),
    isSame(task.group, group),
    isSame(task.publicationId, publicationId),
    since === undefined || task.dueAt >= new Date(since),
    until === undefined || task.dueAt < new Date(until),
    dead === undefined || task.dead === dead,
    message === undefined || holds(task.message, message),
    payload === undefined || holds(task.payload, searchedIn(task, payload)),
    latest !== true || !task.retried,
    buried === undefined || isBuriedAs(table, row, buried),
  ].every(Boolean);
}

function isSame(value: string | null, wanted: string | undefined): boolean {
  return wanted === undefined || value === wanted;
}

function holds(text: string | null, wanted: string): boolean {
  return (text ?? '').toLowerCase().includes(wanted.toLowerCase());
}

/** In the envelope of a delivery the text is part of JSON. */
function searchedIn({ subscriptionId }: TaskRecord, payload: string): string {
  return subscriptionId === null ? payload : JSON.stringify(payload).slice(1, -1);
}
