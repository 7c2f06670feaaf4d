import { column } from '../columns.js';
import { defaultPriority } from '../inserts.js';
import { readClaimedTask, type QueueIdentity } from '../task-row.js';
import type { ClaimedRow } from '../claiming/claim-request.js';
import type { TextRow } from './connections/answers.js';

/** Reads a row of a claimed task; one without a priority has the default one. */
export function readClaimed(answered: TextRow, queue: QueueIdentity): ClaimedRow {
  const row = unfolded(answered);
  const { [column.priority]: priority = String(defaultPriority) } = row;
  // Not spread: on Node 20 that costs more than all the rest.
  return Object.assign(readClaimedTask(row, queue), {
    due: row[column.dueAt] ?? '',
    priority: priority === null ? null : Number(priority),
  });
}

/** The columns that are in `rest` beside the others. */
function unfolded(row: TextRow): TextRow {
  const { rest } = row;
  return rest == null ? row : Object.assign(JSON.parse(rest) as TextRow, row);
}
