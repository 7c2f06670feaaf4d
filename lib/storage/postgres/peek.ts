import { fromTheFront } from '../claiming/claim-rounds.js';
import type { WorkerId } from '../attempt.js';
import type { ClaimDemand } from '../claims.js';
import { claimForm, claimValues, settleValues } from './attempt-values.js';
import type { QueueAccess } from './queue-access.js';

/** Looked at of dead attempts. */
const ofDead = 1_000;

/**
 * Ids of the attempts that a claim would take: what is asked when it has failed. The next one starts at the front too.
 *
 * @param leftOut ids that claims leave out
 */
export async function peek(
  access: QueueAccess,
  workerId: WorkerId,
  among: ClaimDemand | 'unattended',
  leftOut: readonly string[],
): Promise<readonly string[]> {
  const rows =
    among === 'unattended'
      ? await access.ask(access.sql.pendingDead, [ofDead])
      : await peekDemand(access, workerId, among, leftOut);
  return rows.map((row) => String(row['id']));
}

function peekDemand(
  access: QueueAccess,
  workerId: WorkerId,
  demand: ClaimDemand,
  leftOut: readonly string[],
): ReturnType<QueueAccess['ask']> {
  const request = fromTheFront(demand);
  const statement = access.sql.peekClaim(claimForm(request));
  return access.ask(statement, [...settleValues(workerId, []), ...claimValues(request, leftOut, false)]);
}
