import * as statements from './statements.js';
import {
  heldBy,
  isSameClaim,
  restartedWorker,
  rowAt,
  toClaim,
  withRow,
  withWorker,
  workerAt,
  type Attempt,
  type Claim,
  type LateStatement,
  type Place,
  type State,
} from './state.js';
import { countsAsFault, type InFlight, type Setting, type Step } from './step.js';
import { demandsOf } from './steps.js';

/** The state after a step. */
export function apply(state: State, step: Step, setting: Setting): State {
  const after = perform(state, step, setting);
  return countsAsFault(state, step) ? { ...after, faults: after.faults - 1 } : after;
}

function perform(state: State, step: Step, setting: Setting): State {
  const { rules } = setting;
  switch (step.kind) {
    case 'insert':
      return statements.insert(state, step.task, step.scheduled);
    case 'promote':
      return statements.promote(state);
    case 'purge':
      return statements.purge(state, rules, step.task);
    case 'settle and claim':
      return settleAndClaim(state, setting, step.worker, step.places);
    case 'flush failures':
      return flushFailures(state, setting, step.worker);
    case 'succeed':
      return setPhase(state, step.attempt, { phase: 'succeeded' });
    case 'throw':
      return setPhase(state, step.attempt, { phase: 'failed', final: step.final });
    case 'commit':
      return forget(statements.complete(state, rules, step.attempt, 1), step.attempt);
    case 'read outcome':
      return readOutcome(state, setting, step.attempt);
    case 'compare':
      return withWorker(state, step.worker, { compared: heldBy(state, step.worker) });
    case 'give back unknown':
      return giveBackUnknown(state, setting, step.worker);
    case 'late statement arrives':
      return lateArrives(state, setting, step.worker, step.places);
    case 'late statement vanishes':
      return withWorker(state, step.worker, { late: undefined });
    case 'late commit arrives':
      return dropCommit(statements.complete(state, rules, step.claim, 1), step.claim);
    case 'late commit vanishes':
      return dropCommit(state, step.claim);
    case 'restore session':
      // Who learns of the loss reconnects, takes the lock again and compares.
      return withWorker(state, step.worker, { locked: true, unsure: true });
    case 'find lost':
      return withWorker(state, step.worker, { recovering: heldBy(state, step.lost) });
    case 'recover':
      return recover(state, setting, step.worker);
    case 'restart':
      return withWorker(state, step.worker, restartedWorker);
    case 'kill':
      return kill(state, setting, step.worker, step.inFlight);
    case 'kill itself':
      return kill(state, setting, step.attempt.worker, 'nothing');
    case 'lose session':
      return withWorker(state, step.worker, { locked: false });
    case 'lose control':
      return withWorker(state, step.worker, {
        late: lateStatement(state, setting, step.worker, step.inFlight),
        compared: undefined,
        unsure: true,
      });
    case 'lose commit':
      return loseCommit(state, step.attempt);
    // 'give back by hand'
    default:
      return withRow(state, step.place, { status: 'pending' });
  }
}

/** One statement: outcomes go in, new attempts come out. */
function settleAndClaim(state: State, { rules }: Setting, worker: number, places: readonly Place[]): State {
  let after = state;
  for (const one of withPhase(state, worker, 'succeeded')) {
    after = forget(statements.complete(after, rules, one, 0), one);
  }
  for (const place of places) {
    after = statements.claim(after, rules, { worker, ...place });
    const { reservation } = rowAt(after, place);
    const { attempts } = workerAt(after, worker);
    const { task, row } = place;
    const claimed: Attempt = {
      task,
      row,
      worker,
      reservation,
      phase: 'running',
      final: false,
      dead: rowAt(after, place).dead,
    };
    after = withWorker(after, worker, { attempts: [...attempts, claimed] });
  }
  return after;
}

function flushFailures(state: State, setting: Setting, worker: number): State {
  let after = state;
  for (const one of withPhase(state, worker, 'failed')) after = forget(fail(after, setting, one), one);
  return after;
}

function fail(state: State, setting: Setting, { final, ...claim }: Attempt): State {
  return statements.fail(state, setting.rules, claim, {
    most: mostOf(state, setting, claim),
    lost: false,
    final,
  });
}

export function mostOf(state: State, { maxAttempts, maxDeadAttempts }: Setting, claim: Claim): number {
  return rowAt(state, claim).dead ? maxDeadAttempts : maxAttempts;
}

function recover(state: State, setting: Setting, looker: number): State {
  let after = withWorker(state, looker, { recovering: undefined });
  for (const one of workerAt(state, looker).recovering ?? []) {
    const most = mostOf(state, setting, one);
    after = statements.fail(after, setting.rules, one, { most, lost: true, final: false });
  }
  return after;
}

function readOutcome(state: State, { rules }: Setting, attempt: Attempt): State {
  const row = rowAt(state, attempt);
  const outcome = row.purged ? 'ended' : rules.outcome(row, attempt);
  if (outcome === 'ended') return forget(state, attempt);
  return setPhase(state, attempt, { phase: outcome === 'held' ? 'failed' : 'succeeded' });
}

/** Rows that the table said it holds, and of which its memory knows nothing now. */
function giveBackUnknown(state: State, { rules }: Setting, worker: number): State {
  let after = withWorker(state, worker, { compared: undefined, unsure: false });
  for (const held of unknownOf(state, worker)) after = statements.release(after, rules, held);
  return after;
}

export function unknownOf(state: State, worker: number): readonly Claim[] {
  const { attempts, compared } = workerAt(state, worker);
  const isKnown = (held: Claim): boolean =>
    attempts.some(({ task, row }) => task === held.task && row === held.row);
  return (compared ?? []).filter((held) => !isKnown(held));
}

/** The memory and the lock are gone at once; what was sent may still be carried out. */
function kill(state: State, setting: Setting, worker: number, inFlight: InFlight): State {
  const { late, lateCommits } = workerAt(state, worker);
  return withWorker(state, worker, {
    ...restartedWorker,
    up: false,
    locked: false,
    late: typeof inFlight === 'string' ? (lateStatement(state, setting, worker, inFlight) ?? late) : late,
    lateCommits: typeof inFlight === 'string' ? lateCommits : [...lateCommits, inFlight],
  });
}

function lateStatement(
  state: State,
  { rules }: Setting,
  worker: number,
  inFlight: InFlight,
): LateStatement | undefined {
  switch (inFlight) {
    case 'settle':
      return {
        kind: 'settle',
        completions: withPhase(state, worker, 'succeeded').map(toClaim),
        demands: demandsOf(state, rules, workerAt(state, worker)),
      };
    case 'fail':
      return { kind: 'fail', failures: withPhase(state, worker, 'failed') };
    case 'release':
      return { kind: 'release', claims: unknownOf(state, worker) };
    default:
      return undefined;
  }
}

/** It is carried out, and nobody hears the answer. */
function lateArrives(state: State, setting: Setting, worker: number, places: readonly Place[]): State {
  const { rules } = setting;
  const { late } = workerAt(state, worker);
  let after = withWorker(state, worker, { late: undefined });
  if (late?.kind === 'settle') {
    for (const one of late.completions) after = statements.complete(after, rules, one, 0);
    for (const place of places) after = statements.claim(after, rules, { worker, ...place });
  }
  if (late?.kind === 'fail') for (const one of late.failures) after = fail(after, setting, one);
  if (late?.kind === 'release') {
    for (const one of late.claims) after = statements.release(after, rules, one);
  }
  return after;
}

function loseCommit(state: State, attempt: Attempt): State {
  const { lateCommits } = workerAt(state, attempt.worker);
  const after = withWorker(state, attempt.worker, { lateCommits: [...lateCommits, toClaim(attempt)] });
  return setPhase(after, attempt, { phase: 'unknown' });
}

function dropCommit(state: State, claim: Claim): State {
  const { lateCommits } = workerAt(state, claim.worker);
  return withWorker(state, claim.worker, {
    lateCommits: lateCommits.filter((one) => !isSameClaim(one, claim)),
  });
}

function withPhase(state: State, worker: number, phase: Attempt['phase']): readonly Attempt[] {
  return workerAt(state, worker).attempts.filter((attempt) => attempt.phase === phase);
}

function setPhase(state: State, attempt: Attempt, changes: Pick<Attempt, 'phase'> & Partial<Attempt>): State {
  const { attempts } = workerAt(state, attempt.worker);
  return withWorker(state, attempt.worker, {
    attempts: attempts.map((one) => (isSameClaim(one, attempt) ? { ...one, ...changes } : one)),
  });
}

function forget(state: State, attempt: Claim): State {
  const { attempts } = workerAt(state, attempt.worker);
  return withWorker(state, attempt.worker, {
    attempts: attempts.filter((one) => !isSameClaim(one, attempt)),
  });
}
