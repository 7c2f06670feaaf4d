import type { Route } from '../../attempt.js';
import { readBoolean } from '../../columns.js';
import type { TextRow } from '../connections/control-connection.js';
import type { QueueIdentity } from '../../task-row.js';
import { readClaimed, readIds } from '../read-rows.js';
import {
  inPickUpOrder,
  type ClaimAnswer,
  type ClaimedRow,
  type Stretch,
} from '../../claiming/claim-request.js';

/** Reads the answer of a statement that claims: rows of claimed tasks, what else it says in the first one. */
export function readAnswer(
  rows: readonly TextRow[],
  stretches: readonly Stretch[],
  queue: QueueIdentity,
): ClaimAnswer {
  const [first] = rows;
  const claimed: ClaimedRow[] = [];
  for (const row of rows) if (row['id'] != null) claimed.push(readClaimed(unfolded(row), queue));
  const routesAt = (places: readonly string[] | undefined): readonly Route[] | undefined =>
    places?.map((place) => stretches[Number(place) - 1]?.route ?? '');
  return {
    settledOnly: readSettledOnly(rows),
    claimed: inPickUpOrder(claimed),
    lockedRoutes: routesAt(readIds(first?.['locked_routes'])) ?? [],
    moreRoutes: routesAt(readIds(first?.['more_routes'])),
    contended: readBoolean(first?.['contended']),
    exhaustedAt: first?.['exhausted_at'] ?? undefined,
    isCut: readBoolean(first?.['is_cut']),
    refused: readIds(first?.['refused']) ?? [],
  };
}

/** The columns that are in `rest` beside the others. */
function unfolded(row: TextRow): TextRow {
  const { rest } = row;
  return rest == null ? row : Object.assign(JSON.parse(rest) as TextRow, row);
}

/** Ids of the completions that were written; undefined when all were. */
export function readSettledOnly([first]: readonly TextRow[]): readonly string[] | undefined {
  return readIds(first?.['settled_only']);
}
