import type { QueueTables } from './identifiers.js';
import { partitionWork } from './partitions/partition-work.js';
import type { Statement } from './statement.js';
import {
  completeElsewhere,
  completeManyOrRaise,
  completeOrRaise,
  handOver,
  noteProgress,
  readOutcome,
  release,
  snooze,
  seenElsewhere,
} from './statements/complete.js';
import { fail } from './statements/fail.js';
import { fanOut, fanOutUnsealed } from './statements/fan-out.js';
import {
  loadPayload,
  lockFree,
  pausedRoutes,
  promote,
  promoteInTurn,
  readHeld,
  readHeldBytes,
  readTakenBytes,
  seeDue,
  standing,
  tryPromotion,
  unregisteredHolders,
} from './statements/look.js';
import { clientServerSigns, seeForeign, takeOver, tryTakeOver } from './statements/interop.js';
import { oldestUnfinished } from './statements/oldest-unfinished.js';
import { familiesAmong, findPurgeable, lockPurgeable, purge } from './statements/purge.js';
import { peekClaim, settleAndClaim, tryClaim, type ClaimForm } from './statements/settle-and-claim.js';
import { dueSchedules, moveKeyedSchedules, moveSchedules } from './statements/schedules.js';
import { settle } from './statements/settle.js';
import { findUnfollowed, insertUnfollowed, lockUnfollowed } from './statements/unfollowed.js';
import { claimUnattended } from './statements/unattended.js';
import { buryUnreadable, pendingDead, pendingOfEachRoute, readTexts } from './statements/unreadable.js';
import { nextDue, routeHeads, waitingRoutes, wouldClaim } from './statements/waiting.js';
import {
  confirmLost,
  detachedOn,
  findMissing,
  forgetWorkers,
  isHalted,
  registerBehind,
  restoreSeal,
  restoreWorker,
  withdrawWorker,
  registerWorker,
  retireWorker,
  reviveWorker,
} from './statements/workers.js';

const templates = {
  settle,
  completeOrRaise,
  completeManyOrRaise,
  completeElsewhere,
  seenElsewhere,
  readOutcome,
  noteProgress,
  release,
  handOver,
  snooze,
  fail,
  fanOut,
  fanOutUnsealed,
  findUnfollowed,
  lockUnfollowed,
  insertUnfollowed,
  promote,
  promoteInTurn,
  seeDue,
  tryPromotion,
  tryClaim,
  claimUnattended,
  lockFree,
  nextDue,
  wouldClaim,
  pausedRoutes,
  routeHeads,
  waitingRoutes,
  partitionWork,
  oldestUnfinished,
  loadPayload,
  readHeld,
  readHeldBytes,
  readTakenBytes,
  standing,
  unregisteredHolders,
  detachedOn,
  takeOver,
  seeForeign,
  tryTakeOver,
  clientServerSigns,
  confirmLost,
  findMissing,
  findPurgeable,
  familiesAmong,
  lockPurgeable,
  purge,
  registerWorker,
  retireWorker,
  reviveWorker,
  isHalted,
  registerBehind,
  restoreSeal,
  restoreWorker,
  withdrawWorker,
  forgetWorkers,
  dueSchedules,
  moveSchedules,
  moveKeyedSchedules,
  readTexts,
  pendingOfEachRoute,
  pendingDead,
  buryUnreadable,
};

/** Every statement of one queue, ready to run. */
export type QueueStatements = { readonly [Name in keyof typeof templates]: Statement } & {
  readonly settleAndClaim: (form: ClaimForm) => Statement;
  readonly peekClaim: (form: ClaimForm) => Statement;
};

export function queueStatements(tables: QueueTables): QueueStatements {
  const plain = Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [name, template(tables)]),
  ) as { readonly [Name in keyof typeof templates]: Statement };
  const forms = new Map<string, Statement>();
  return {
    ...plain,
    peekClaim: (form) => peekClaim(tables, form),
    settleAndClaim: (form) => {
      const key = `${form.shape} ${form.start}`;
      let made = forms.get(key);
      if (!made) forms.set(key, (made = settleAndClaim(tables, form)));
      return made;
    },
  };
}
