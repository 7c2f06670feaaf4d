import type { Rules } from './rules.js';
import {
  heldBy,
  rowAt,
  rowsOf,
  toClaim,
  type Attempt,
  type Demand,
  type Place,
  type State,
  type Worker,
} from './state.js';
import type { Fault, InFlight, Setting, Step } from './step.js';

/** Everything that may happen next. */
export function* stepsOf(state: State, setting: Setting): Generator<Step> {
  yield* stepsOfTable(state, setting);
  for (const [place, worker] of state.workers.entries()) {
    yield* stepsOfNetwork(state, setting, place, worker);
    if (worker.up) {
      yield* stepsOfHandlers(worker, setting);
      yield* stepsOfDispatcher(state, setting, place, worker);
      yield* stepsOfRecovery(state, setting, place, worker);
    } else if (setting.restarts && isForgotten(state, place, worker)) {
      yield { kind: 'restart', worker: place };
    }
  }
  if (state.faults > 0) yield* stepsOfFaults(state, setting);
}

function* stepsOfTable(state: State, { rules }: Setting): Generator<Step> {
  for (const [task, rows] of state.tasks.entries()) {
    if (rows.length === 0) {
      yield { kind: 'insert', task, scheduled: false };
      yield { kind: 'insert', task, scheduled: true };
    }
    if (rows.some((_, row) => rules.mayPurge(rows, row))) yield { kind: 'purge', task };
  }
  if (rowsOf(state).some(({ is }) => is.status === 'scheduled')) yield { kind: 'promote' };
}

function* stepsOfHandlers({ attempts }: Worker, { tasks, finals }: Setting): Generator<Step> {
  for (const attempt of attempts) {
    if (attempt.phase === 'unknown') yield { kind: 'read outcome', attempt };
    if (attempt.phase !== 'running') continue;
    const kind = tasks[attempt.task];
    if (kind === 'poison' && !attempt.dead) {
      yield { kind: 'kill itself', attempt };
      continue;
    }
    yield kind === 'transaction' ? { kind: 'commit', attempt } : { kind: 'succeed', attempt };
    if (kind === 'innocent') continue;
    yield { kind: 'throw', attempt, final: false };
    if (finals) yield { kind: 'throw', attempt, final: true };
  }
}

function* stepsOfDispatcher(
  state: State,
  { rules }: Setting,
  place: number,
  worker: Worker,
): Generator<Step> {
  if (worker.late && rules.endsOldBackend) return;
  if (worker.compared) {
    yield { kind: 'give back unknown', worker: place };
    return;
  }
  // A comparison at a poll that finds nothing is no step.
  const finds = rules.compares === 'at every poll' && holdsUnknown(state, place, worker);
  if (rules.compares !== 'never') {
    if (worker.unsure || finds) yield { kind: 'compare', worker: place };
    if (worker.unsure) return;
  }
  if (worker.attempts.some(({ phase }) => phase === 'failed'))
    yield { kind: 'flush failures', worker: place };
  const settles = worker.attempts.some(({ phase }) => phase === 'succeeded');
  // Who has lost its lock learns of it soon: that it claims before is one more fault.
  const demands: readonly Demand[] =
    worker.locked || state.faults > 0 ? demandsOf(state, rules, worker) : ['nothing'];
  for (const places of claimable(state, rules, demands)) {
    if (settles || places.length > 0) yield { kind: 'settle and claim', worker: place, places };
  }
}

/** What a worker may ask for: nothing beside an attempt that is run alone, and such a one only beside nothing. */
export function demandsOf(state: State, rules: Rules, { attempts }: Worker): readonly Demand[] {
  const left = attempts.filter(({ phase }) => phase !== 'succeeded');
  if (left.some((attempt) => rules.isIsolated(rowAt(state, attempt)))) return ['nothing'];
  return left.length === 0 ? ['nothing', 'shared', 'alone'] : ['nothing', 'shared'];
}

/** The sets of rows that a claim may get. */
export function* claimable(
  state: State,
  rules: Rules,
  demands: readonly Demand[],
): Generator<readonly Place[]> {
  const shared: Place[] = [];
  const alone: Place[] = [];
  for (const { task, row, is } of rowsOf(state)) {
    if (rules.mayClaim(is)) (rules.isIsolated(is) ? alone : shared).push({ task, row });
  }
  if (demands.includes('nothing')) yield [];
  if (demands.includes('shared')) {
    for (const one of shared) yield [one];
    if (shared.length > 1) yield shared;
  }
  if (demands.includes('alone')) for (const one of alone) yield [one];
}

function holdsUnknown(state: State, place: number, { attempts }: Worker): boolean {
  return heldBy(state, place).some((held) => !attempts.some((attempt) => isSameRow(attempt, held)));
}

function isSameRow(one: Place, other: Place): boolean {
  return one.task === other.task && one.row === other.row;
}

/**
 * Recovery. Its two looks take time and change nothing: a lock that is gone now may have been missed by the first one
 * already, so the second is all there is here.
 */
function* stepsOfRecovery(state: State, { rules }: Setting, place: number, worker: Worker): Generator<Step> {
  if (!rules.recovers || !worker.locked) return;
  if (worker.recovering) {
    yield { kind: 'recover', worker: place };
    return;
  }
  // One worker of the fleet looks; what a second one could do, it does itself.
  if (state.workers.some(({ recovering }) => recovering)) return;
  for (const [lost, other] of state.workers.entries()) {
    if (!other.locked && heldBy(state, lost).length > 0) yield { kind: 'find lost', worker: place, lost };
  }
}

function* stepsOfNetwork(state: State, { rules }: Setting, place: number, worker: Worker): Generator<Step> {
  if (worker.late) {
    for (const places of arrivals(state, rules, worker.late)) {
      yield { kind: 'late statement arrives', worker: place, places };
    }
    yield { kind: 'late statement vanishes', worker: place };
  }
  for (const claim of worker.lateCommits) {
    yield { kind: 'late commit arrives', claim };
    yield { kind: 'late commit vanishes', claim };
  }
  if (worker.up && !worker.locked) yield { kind: 'restore session', worker: place };
}

function* arrivals(
  state: State,
  rules: Rules,
  late: NonNullable<Worker['late']>,
): Generator<readonly Place[]> {
  if (late.kind === 'settle') yield* claimable(state, rules, late.demands);
  else yield [];
}

function* stepsOfFaults(state: State, setting: Setting): Generator<Step> {
  const may = (fault: Fault): boolean => setting.faultKinds.includes(fault);
  for (const [place, worker] of state.workers.entries()) {
    if (!worker.up) continue;
    const statements = inFlight(state, setting, worker);
    if (may('kill') && state.workers.filter(({ up }) => up).length > 1) {
      for (const one of ['nothing' as const, ...statements]) {
        yield { kind: 'kill', worker: place, inFlight: one };
      }
    }
    if (may('lose session') && worker.locked) yield { kind: 'lose session', worker: place };
    if (may('lose control')) {
      for (const one of statements) {
        if (typeof one === 'string') yield { kind: 'lose control', worker: place, inFlight: one };
      }
    }
    if (may('lose commit')) {
      for (const attempt of worker.attempts) {
        if (canCommit(attempt, setting)) yield { kind: 'lose commit', attempt };
      }
    }
  }
  if (!may('give back by hand')) return;
  for (const { is, task, row } of rowsOf(state)) {
    if (is.status === 'processing') yield { kind: 'give back by hand', place: { task, row } };
  }
}

/** What a worker may have sent without having heard of it again. */
function inFlight(state: State, setting: Setting, worker: Worker): InFlight[] {
  const { attempts, compared, late, unsure } = worker;
  const sent: InFlight[] = attempts.filter((one) => canCommit(one, setting)).map(toClaim);
  if (late) return sent;
  if (compared) return [...sent, 'release'];
  if (unsure) return sent;
  if (attempts.some(({ phase }) => phase === 'failed')) sent.push('fail');
  const settles = attempts.some(({ phase }) => phase === 'succeeded');
  const claims = [...claimable(state, setting.rules, demandsOf(state, setting.rules, worker))];
  if (settles || claims.some(({ length }) => length > 0)) sent.push('settle');
  return sent;
}

function canCommit({ phase, task }: Attempt, { tasks }: Setting): boolean {
  return phase === 'running' && tasks[task] === 'transaction';
}

/** True when nothing anywhere names the dead worker any more. */
function isForgotten(state: State, place: number, { late, lateCommits }: Worker): boolean {
  const isNamed = state.workers.some(({ recovering }) => recovering?.some(({ worker }) => worker === place));
  return !late && lateCommits.length === 0 && !isNamed && heldBy(state, place).length === 0;
}
