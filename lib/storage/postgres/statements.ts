import type { QueueTables } from './identifiers.js';
import type { Statement } from './statement.js';
import {
  completeElsewhere,
  completeManyOrRaise,
  completeOrRaise,
  readOutcome,
  release,
} from './statements/complete.js';
import { fail } from './statements/fail.js';
import { fanOut } from './statements/fan-out.js';
import {
  hasOverdue,
  loadPayload,
  nextDue,
  pausedRoutes,
  pendingRoutes,
  promote,
  readHeld,
  stillHeld,
  unregisteredHolders,
} from './statements/look.js';
import { takeOver } from './statements/interop.js';
import { findPurgeable, lockPurgeable, purge } from './statements/purge.js';
import { settle, settleAndClaim, type ClaimForm } from './statements/settle-and-claim.js';
import { confirmLost, forgetWorkers, registerWorker, retireWorker } from './statements/workers.js';

const templates = {
  settle,
  completeOrRaise,
  completeManyOrRaise,
  completeElsewhere,
  readOutcome,
  release,
  fail,
  fanOut,
  promote,
  nextDue,
  pausedRoutes,
  pendingRoutes,
  hasOverdue,
  loadPayload,
  readHeld,
  stillHeld,
  unregisteredHolders,
  takeOver,
  confirmLost,
  findPurgeable,
  lockPurgeable,
  purge,
  registerWorker,
  retireWorker,
  forgetWorkers,
};

/** Every statement of one queue, ready to run. */
export type QueueStatements = { readonly [Name in keyof typeof templates]: Statement } & {
  readonly settleAndClaim: (form: ClaimForm) => Statement;
};

export function queueStatements(tables: QueueTables): QueueStatements {
  const plain = Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [name, template(tables)]),
  ) as { readonly [Name in keyof typeof templates]: Statement };
  const forms = new Map<string, Statement>();
  return {
    ...plain,
    settleAndClaim: (form) => {
      const key = `${form.shape} ${form.bounded} ${form.capped} ${form.interop}`;
      let made = forms.get(key);
      if (!made) forms.set(key, (made = settleAndClaim(tables, form)));
      return made;
    },
  };
}
