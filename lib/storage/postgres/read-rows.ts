import { readEndedBy } from '../cancellation.js';
import { column, readBoolean, type Row } from '../columns.js';
import type { FailureOutcome, NextDue, PromoteResult, Route } from '../attempt.js';
import { readClaimedTask, type ClaimedRow, type QueueIdentity } from '../task-row.js';
import { inPickUpOrder, type ClaimAnswer, type Stretch } from '../claiming/claim-request.js';
import type { TextRow } from './connections/control-connection.js';
import { readTextBytes } from './readable-rows.js';

/** Reads `{1,2,3}`, as PostgreSQL writes an array of ids. */
export function readIds(text: string | null | undefined): readonly string[] | undefined {
  if (text == null) return undefined;
  return text === '{}' ? [] : text.slice(1, -1).split(',');
}

/** Reads a row of `fail`. */
export function readFailed(row: TextRow): FailureOutcome {
  return {
    id: String(row['id']),
    nextAttemptInMs: row['next_ms'] == null ? undefined : Number(row['next_ms']),
    deadId: row['dead_id'] ?? undefined,
    cancelled: readEndedBy(readCancellation(row)),
  };
}

/** The columns that say who cancelled an attempt and why, sent as bytes: a hand may have written what is no text. */
function readCancellation({ cancelled_by: by, reason, encoding }: TextRow): Row {
  if (by == null) return {};
  return {
    [column.cancelledBy]: readTextBytes(by, encoding),
    [column.message]: readTextBytes(reason ?? '', encoding),
  };
}

/** Reads the row of `promote`. */
export function readPromoted(row: TextRow | undefined): PromoteResult {
  const [earliest, nextDue] = [row?.['earliest'], row?.['next_due_ms']];
  return {
    promoted: Number(row?.['promoted'] ?? 0),
    // `-infinity` is not a date.
    earliestMs: earliest == null ? undefined : Date.parse(earliest) || 0,
    nextDueInMs: nextDue == null ? undefined : Number(nextDue),
    isolated: readBoolean(row?.['isolated']),
  };
}

/** Reads the row of `next_due`. */
export function readNextDue(row: TextRow | undefined): NextDue {
  const inMs = row?.['next_due_ms'];
  return {
    inMs: inMs == null ? undefined : Number(inMs),
    pending: row?.['pending'] == null ? [] : (JSON.parse(row['pending']) as Route[]),
    holding: readBoolean(row?.['holding']),
    halted: row?.['halted'] == null ? undefined : readBoolean(row['halted']),
  };
}

/**
 * Reads the answer of a statement that claims: rows of claimed tasks, what else it says in the first one.
 *
 * @param routes in the order in which they were asked for
 */
export function readAnswer(
  rows: readonly TextRow[],
  routes: readonly Pick<Stretch, 'route'>[],
  queue: QueueIdentity,
): ClaimAnswer {
  const [first] = rows;
  const claimed: ClaimedRow[] = [];
  for (const row of rows) if (row['id'] != null) claimed.push(readClaimedTask(row, queue));
  const routesAt = (places: readonly string[] | undefined): readonly Route[] | undefined =>
    places?.map((place) => routes[Number(place) - 1]?.route ?? '');
  return {
    settledOnly: readIds(first?.['settled_only']),
    claimed: inPickUpOrder(claimed),
    lockedRoutes: routesAt(readIds(first?.['locked_routes'])) ?? [],
    moreRoutes: routesAt(readIds(first?.['more_routes'])),
    contended: readBoolean(first?.['contended']),
    exhaustedAt: first?.['exhausted_at'] ?? undefined,
    isCut: readBoolean(first?.['is_cut']),
    refused: readIds(first?.['refused']) ?? [],
  };
}
