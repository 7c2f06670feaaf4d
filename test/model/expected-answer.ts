import { unknownOf } from './apply.js';
import { inOrder, type RealQueue } from './real-queue.js';
import { holds } from './rules.js';
import { heldBy, rowAt, workerAt, type Attempt, type Claim, type Place, type State } from './state.js';
import type { Step } from './step.js';

/** What the storage must have answered, by the states before and after. */
export function expectedAnswer(queue: RealQueue, before: State, after: State, step: Step): unknown {
  const written = (claims: readonly Claim[]): readonly Claim[] =>
    claims.filter(
      (claim) => holds(rowAt(before, claim), claim) && rowAt(before, claim) !== rowAt(after, claim),
    );
  const ids = (claims: readonly Claim[]): readonly string[] =>
    inOrder(written(claims).map((claim) => queue.id(claim)));
  const failed = (claims: readonly Claim[]): unknown =>
    inOrder(
      written(claims).map((claim) => {
        const { retried, exhausted, dead } = rowAt(after, claim);
        return [queue.id(claim), retried, exhausted && !dead];
      }),
    );
  const settled = (claims: readonly Claim[], places: readonly Place[]): unknown => ({
    settled: ids(claims),
    claimed: inOrder(
      places.map((place) => {
        const { reservation, attempt, dead, losses } = rowAt(after, place);
        return [queue.id(place), reservation, attempt, dead, losses];
      }),
    ),
    blockedRoutes: [],
  });
  const held = (worker: number): unknown =>
    inOrder(heldBy(before, worker).map((claim) => [queue.id(claim), claim.reservation]));
  const phase = (worker: number, name: Attempt['phase']): readonly Attempt[] =>
    workerAt(before, worker).attempts.filter((attempt) => attempt.phase === name);
  const committed = (claim: Claim): string => (written([claim]).length > 0 ? 'committed' : 'refused');

  switch (step.kind) {
    case 'promote':
      return before.tasks.flat().filter(({ status }) => status === 'scheduled').length;
    case 'settle and claim':
      return settled(phase(step.worker, 'succeeded'), step.places);
    case 'flush failures':
      return failed(phase(step.worker, 'failed'));
    case 'recover':
      return failed(workerAt(before, step.worker).recovering ?? []);
    case 'commit':
      return committed(step.attempt);
    case 'late commit arrives':
      return committed(step.claim);
    case 'compare':
      return held(step.worker);
    case 'find lost':
      return held(step.lost);
    case 'give back unknown':
      return ids(unknownOf(before, step.worker));
    case 'late statement arrives': {
      const { late } = workerAt(before, step.worker);
      if (late?.kind === 'fail') return failed(late.failures);
      if (late?.kind === 'release') return ids(late.claims);
      return settled(late?.completions ?? [], step.places);
    }
    case 'read outcome':
      return outcomeOf(before, step.attempt);
    case 'purge':
      return countPurged(after) - countPurged(before);
    default:
      return undefined;
  }
}

function countPurged({ tasks }: State): number {
  return tasks.flat().filter(({ purged }) => purged).length;
}

function outcomeOf(state: State, claim: Claim): string {
  const row = rowAt(state, claim);
  if (row.purged || row.executor !== claim.worker || row.reservation !== claim.reservation) return 'lost';
  if (row.status === 'succeeded') return 'completed';
  if (row.status === 'failed') return 'failed';
  return row.status === 'processing' ? 'held' : 'lost';
}
