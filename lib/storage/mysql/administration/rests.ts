import type { RestRules } from '../../endpoints.js';
import { blamesRow } from '../../error-kind.js';
import { subscriptionRoute } from '../../route.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { classifyError } from '../mysql-errors.js';
import { sqlTime } from '../sql-time.js';
import { linkPrevious } from '../statements/admin.js';
import { lockDue, moveDue } from '../statements/webhooks.js';
import { idsOf, rowsOf } from './answered.js';
import { jsonIds } from './id-list.js';

/** Most times that a rest is doubled. */
const mostDoublings = 30;

/** How long an endpoint rests after that many failures in a row, in ms; null when no rest begins. */
export function restOf(
  failures: number,
  { failures: first, restMs, longestRestMs }: RestRules,
): number | null {
  if (first === null || failures < first) return null;
  return Math.min(longestRestMs, restMs * 2 ** Math.min(mostDoublings, failures - first));
}

/**
 * Moves the deliveries of a subscription that are due to a time, together with the time that their previous attempts name. Where
 * the database does not let them change they stay as they are, and wait behind the rest anyway.
 */
export async function moveDueDeliveries(
  run: Run,
  tables: QueueTables,
  subscriptionId: string,
  until: string,
): Promise<void> {
  const due = idsOf(await rowsOf(run, lockDue(tables), [subscriptionRoute(subscriptionId)]));
  if (due.length === 0) return;
  try {
    await run(moveDue(tables), [jsonIds(due), sqlTime(until)]);
    await run(linkPrevious(tables), [jsonIds(due)]);
  } catch (error) {
    if (!blamesRow(classifyError(error))) throw error;
  }
}
