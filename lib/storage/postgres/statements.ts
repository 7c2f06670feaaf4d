import type { QueueTables } from './identifiers.js';
import type { Statement } from './statement.js';
import { completeElsewhere, completeOrRaise, readOutcome, release } from './statements/complete.js';
import { fail } from './statements/fail.js';
import { fanOut } from './statements/fan-out.js';
import {
  hasOverdue,
  loadPayload,
  pendingRoutes,
  promote,
  readHeld,
  workersInUse,
} from './statements/look.js';
import { findPurgeable, purge } from './statements/purge.js';
import { settleAndClaim } from './statements/settle-and-claim.js';
import { confirmLost, forgetWorkers, registerWorker, retireWorker } from './statements/workers.js';

const templates = {
  settleAndClaim,
  completeOrRaise,
  completeElsewhere,
  readOutcome,
  release,
  fail,
  fanOut,
  promote,
  pendingRoutes,
  hasOverdue,
  loadPayload,
  readHeld,
  workersInUse,
  confirmLost,
  findPurgeable,
  purge,
  registerWorker,
  retireWorker,
  forgetWorkers,
};

/** Every statement of one queue, ready to run. */
export type QueueStatements = { readonly [Name in keyof typeof templates]: Statement };

export function queueStatements(tables: QueueTables): QueueStatements {
  return Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [name, template(tables)]),
  ) as QueueStatements;
}
