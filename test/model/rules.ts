import { mostLosses } from '../../lib/storage/failure-rule.js';
import { isolatingLosses } from '../../lib/storage/route.js';
import { isUnfinished, type Claim, type Row } from './state.js';

/**
 * What a worker makes of an attempt whose COMMIT was not answered: it has ended, its row is `held` and the attempt
 * fails, or (as no worker should) it is completed once more.
 */
export type Outcome = 'ended' | 'held' | 'again';

/**
 * The conditions of the SQL statements in `lib/storage/postgres/statements`, and of the worker around them, one by
 * one: a mutant of the model leaves out one of them, and shows what it is there for.
 */
export interface Rules {
  /** complete.ts `complete`, `complete_in` and settle-and-claim.ts `mine`, `done`. */
  mayComplete(row: Row, claim: Claim): boolean;
  /** fail.ts `mine` (status) and `failed` (reservation, executor). */
  mayFail(row: Row, claim: Claim): boolean;
  /** complete.ts `release`. */
  mayRelease(row: Row, claim: Claim): boolean;
  /** settle-and-claim.ts `got`. */
  mayClaim(row: Row): boolean;
  /** settle-and-claim.ts `claimed`: the reservation of a new claim. */
  nextReservation(row: Row): number;
  /** fail.ts `ruled`: whether there is a next attempt. */
  isRetried(
    row: Row,
    failure: { readonly most: number; readonly lost: boolean; readonly final: boolean },
  ): boolean;
  /** fail.ts `next`: losses of the next attempt. */
  nextLosses(row: Row, lost: boolean): number;
  /** fail.ts `buried`. */
  isBuried(row: Row): boolean;
  /** purge.ts `over`, of the row at that place among the rows of its task. */
  mayPurge(rows: readonly Row[], place: number): boolean;
  /** complete.ts `read_outcome`, and what the executor makes of it. */
  outcome(row: Row, claim: Claim): Outcome;
  /** route.ts: such an attempt is run alone. */
  isIsolated(row: Row): boolean;
  /** reconciler.ts, dispatcher.ts: when a worker compares the table with its memory. */
  readonly compares: 'at every poll' | 'after a loss' | 'never';
  /** recovery.ts: whether the attempts of lost workers are failed. */
  readonly recovers: boolean;
  /** control-connection.ts: whether the old backend is ended before the new connection is used. */
  readonly endsOldBackend: boolean;
}

/** `heldBy` of statement.ts: `status = 'processando' and executor = …`. */
function isHeld(row: Row, { worker }: Claim): boolean {
  return row.status === 'processing' && row.executor === worker;
}

/** What all statements of a claim demand. */
export function holds(row: Row, claim: Claim): boolean {
  return isHeld(row, claim) && row.reservation === claim.reservation;
}

/** The rules as they are. */
export const rules: Rules = {
  mayComplete: holds,
  mayFail: holds,
  mayRelease: holds,
  mayClaim: (row) => row.status === 'pending',
  nextReservation: (row) => row.reservation + 1,
  isRetried: (row, { most, lost, final }) =>
    !final && row.attempt < most && !(lost && row.losses + 1 >= mostLosses),
  nextLosses: (row, lost) => (lost ? row.losses + 1 : 0),
  isBuried: (row) => !row.dead,
  mayPurge: isOver,
  outcome: (row, claim) => (holds(row, claim) ? 'held' : 'ended'),
  isIsolated: (row) => row.losses >= isolatingLosses,
  compares: 'at every poll',
  recovers: true,
  endsOldBackend: true,
};

function isOver(rows: readonly Row[], place: number): boolean {
  const row = rows[place];
  if (!row || row.purged || isUnfinished(row)) return false;
  const first = row.first ?? place;
  const waits = (other: Row): boolean => !other.purged && isUnfinished(other);
  // `first` and `other` of the statement: no attempt of its chain.
  if (rows.some((other, at) => waits(other) && (at === first || other.first === first))) return false;
  // `buried` and `other`: none of its dead chain.
  return !rows.some(
    (buried, from) =>
      !buried.purged &&
      buried.dead &&
      buried.previous === undefined &&
      buried.live === first &&
      rows.some((other, at) => waits(other) && (at === from || other.first === from)),
  );
}
