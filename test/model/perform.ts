import { verdict } from '../../lib/storage/failure-rule.js';
import { isolatedRoute, topicRoute } from '../../lib/storage/route.js';
import type { Completion, Failure } from '../../lib/storage/attempt.js';
import { hasCode } from '../../lib/errors.js';
import { mostOf, unknownOf } from './apply.js';
import { effect } from './backing.js';
import { inOrder, topicOf, type RealQueue } from './real-queue.js';
import { rowAt, workerAt, type Attempt, type Claim, type Place, type State } from './state.js';
import type { Setting, Step } from './step.js';

/**
 * Does with the real queue what a step of the model does, and answers what the database said: the places that it
 * wrote, or found. `expectedAnswer` says what the model makes of it.
 */
export async function perform(
  queue: RealQueue,
  state: State,
  step: Step,
  setting: Setting,
): Promise<unknown> {
  switch (step.kind) {
    case 'insert':
      return queue.insert(step.task, step.scheduled);
    case 'promote': {
      const { promoted } = await queue.worker(0).database.attempts.promote(1_000);
      return promoted;
    }
    case 'settle and claim': {
      const completions = workerAt(state, step.worker).attempts.filter(({ phase }) => phase === 'succeeded');
      return settleAndClaim(queue, state, setting, step.worker, completions, step.places);
    }
    case 'flush failures': {
      const failed = workerAt(state, step.worker).attempts.filter(({ phase }) => phase === 'failed');
      return fail(queue, state, setting, step.worker, failed, false);
    }
    case 'commit':
      return commit(queue, state, step.attempt);
    case 'late commit arrives':
      return commit(queue, state, step.claim);
    case 'read outcome':
      return queue
        .worker(step.attempt.worker)
        .database.attempts.readOutcome(queue.worker(step.attempt.worker).id, realClaim(queue, step.attempt));
    case 'compare':
      return readHeld(queue, step.worker, step.worker);
    case 'find lost':
      return readHeld(queue, step.worker, step.lost);
    case 'give back unknown':
      return release(queue, step.worker, unknownOf(state, step.worker));
    case 'recover':
      return fail(queue, state, setting, step.worker, workerAt(state, step.worker).recovering ?? [], true);
    case 'late statement arrives':
      return lateArrives(queue, state, setting, step.worker, step.places);
    case 'purge':
      return purge(queue, state, step.task);
    case 'give back by hand':
      return queue.backing.giveBack(queue.id(step.place));
    default:
      // What happens in memory, or to a network.
      return undefined;
  }
}

async function settleAndClaim(
  queue: RealQueue,
  state: State,
  { rules }: Setting,
  worker: number,
  completions: readonly Claim[],
  places: readonly Place[],
): Promise<unknown> {
  const { claims } = queue.worker(worker);
  const routes = places.map((place) => {
    const route = topicRoute(topicOf(place.task));
    return { route: rules.isIsolated(rowAt(state, place)) ? isolatedRoute(route) : route, limit: 1 };
  });
  const written: Completion[] = completions.map((one) => ({
    ...realClaim(queue, one),
    message: 'completed',
    result: null,
  }));
  // Rows that were given back by hand are not rung for.
  claims.invalidate();
  const { settledOnly, claimed, blockedRoutes } = await claims.settleAndClaim(
    written,
    places.length === 0 ? undefined : { routes, total: places.length, order: 'age' },
  );
  return {
    settled: inOrder(settledOnly ?? written.map((one) => one.id)),
    claimed: inOrder(
      claimed.map(({ id: row, reservation, task, losses }) => [
        row,
        reservation,
        task.attempt,
        task.dead,
        losses,
      ]),
    ),
    blockedRoutes,
  };
}

async function fail(
  queue: RealQueue,
  state: State,
  setting: Setting,
  worker: number,
  claims: readonly (Claim & Partial<Attempt>)[],
  lost: boolean,
): Promise<unknown> {
  const failures = claims.map<Failure>((claim) => ({
    ...realClaim(queue, claim),
    workerId: queue.worker(claim.worker).id,
    message: 'boom',
    error: null,
    ...verdict({
      attempt: rowAt(state, claim).attempt,
      losses: rowAt(state, claim).losses,
      maxAttempts: mostOf(state, setting, claim),
      next:
        claim.final === true ? { kind: 'never' } : { kind: lost ? 'after-failure' : 'after-due', delayMs: 0 },
      lost,
    }),
  }));
  const outcomes = await queue.worker(worker).database.attempts.failMany(failures);
  return inOrder(
    outcomes.map(({ id, nextAttemptInMs, deadId }) => [
      id,
      nextAttemptInMs !== undefined,
      deadId !== undefined,
    ]),
  );
}

/** The handler's write and the completion, in the task's own transaction. */
async function commit(queue: RealQueue, state: State, claim: Claim): Promise<unknown> {
  const { id, database } = queue.worker(claim.worker);
  const row = rowAt(state, claim);
  const transaction = database.transactions.begin(id);
  const root = queue.id({ task: claim.task, row: row.first ?? claim.row });
  await transaction.query(effect, [root, row.attempt]);
  try {
    await transaction.complete({ ...realClaim(queue, claim), message: 'completed', result: null });
    return 'committed';
  } catch (error) {
    if (!hasCode(error, 'TASK_LOST')) throw error;
    await transaction.rollback();
    return 'refused';
  }
}

async function readHeld(queue: RealQueue, reader: number, holder: number): Promise<unknown> {
  const held = await queue.worker(reader).database.attempts.heldBy(queue.worker(holder).id, 100);
  return inOrder(held.map(({ id, reservation }) => [id, reservation]));
}

async function release(queue: RealQueue, worker: number, claims: readonly Claim[]): Promise<unknown> {
  const { id, database } = queue.worker(worker);
  const real = claims.map((claim) => realClaim(queue, claim));
  return inOrder(await database.attempts.releaseMany(id, real));
}

function lateArrives(
  queue: RealQueue,
  state: State,
  setting: Setting,
  worker: number,
  places: readonly Place[],
): Promise<unknown> {
  const { late } = workerAt(state, worker);
  if (late?.kind === 'fail') return fail(queue, state, setting, worker, late.failures, false);
  if (late?.kind === 'release') return release(queue, worker, late.claims);
  return settleAndClaim(queue, state, setting, worker, late?.completions ?? [], places);
}

async function purge(queue: RealQueue, state: State, task: number): Promise<unknown> {
  // All of its rows are offered: the statement itself decides.
  const rows = (state.tasks[task] ?? []).flatMap(({ purged }, row) =>
    purged ? [] : [queue.id({ task, row })],
  );
  return queue.worker(0).database.upkeep.purge(rows);
}

function realClaim(queue: RealQueue, claim: Claim): { readonly id: string; readonly reservation: number } {
  return { id: queue.id(claim), reservation: claim.reservation };
}
