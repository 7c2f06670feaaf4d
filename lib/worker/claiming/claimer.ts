import type { QueueEvents } from '../../events.js';
import type { ClaimedTask, Route, WorkerId } from '../../storage/attempt.js';
import type { ClaimRequest, Lane, SettleAndClaimResult } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { isBounded, type ClaimCursor } from './claim-cursor.js';
import { ClaimPlanner } from './claim-planner.js';
import { nothing, type Demand, type DemandBook } from './demand.js';
import type { Executor } from '../running/executor.js';
import type { Isolation } from './isolation.js';
import { Lanes } from './lanes.js';
import type { Pauses } from './pauses.js';
import type { Reminders } from './reminders.js';
import type { RunningTasks } from '../running/running-tasks.js';
import { isRowError, type Settler } from '../running/settler.js';
import type { Unreadable } from './unreadable.js';
import type { WorkerOptions } from '../../options/worker-options.js';

/** What a {@link Claimer} works with. */
export interface ClaimerParts {
  readonly database: QueueDatabase;
  readonly settler: Settler;
  readonly demand: DemandBook;
  readonly executor: Executor;
  readonly isolation: Isolation;
  readonly pauses: Pauses;
  readonly reminders: Reminders;
  readonly running: RunningTasks;
  readonly unreadable: Unreadable;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
  /** False while nothing new may be claimed. */
  readonly mayClaim: () => boolean;
  /** Given what was claimed. */
  readonly start: (claimed: readonly ClaimedTask[]) => void;
  /** Asked to claim again. */
  readonly wake: () => void;
}

/** Sends the statement that settles outcomes and claims new attempts, and learns from its answer what the next one asks. */
export class Claimer {
  readonly lanes: Lanes;
  readonly #parts: ClaimerParts;
  readonly #planner: ClaimPlanner;
  #workerId: WorkerId = '';
  /** True while there may be more to claim: after a ring, a look, or a claim that found something. */
  #hungry = false;
  /** Routes left out of the next claim: somebody has locked their best attempts, so others would have to wait. */
  #lockedRoutes: ReadonlySet<Route> = new Set();
  /** True while a worker whose sweeps are rare has said so. */
  #toldRarely = false;

  constructor(parts: ClaimerParts) {
    this.#parts = parts;
    this.#planner = new ClaimPlanner(parts.options.order);
    // Locks of tasks belong to one session.
    const { concurrency, interop } = parts.options;
    this.lanes = new Lanes(concurrency, interop ? 'one' : 'as-needed');
  }

  begin(workerId: WorkerId): void {
    this.#workerId = workerId;
  }

  /** There may be something to claim. */
  expect(): void {
    this.#hungry = true;
  }

  /** There may be something that nobody rang for: the next claim starts at the front. */
  expectAnything(): void {
    this.#planner.cursor.reset();
    this.expect();
  }

  /** Somebody rang for attempts due since then, of that priority or a lower one. */
  expectSince(dueMs: number, highest: number): void {
    this.#planner.cursor.moveBack(dueMs, highest);
    this.expect();
  }

  /** One round trip: outcomes go in, new attempts come out. Answers how many. */
  async settleAndClaim(lane: Lane): Promise<number> {
    const { settler, database, isolation, reminders, unreadable, start } = this.#parts;
    if (reminders.pollMissed) this.expectAnything();
    const taken = settler.take(this.lanes.share);
    const without = this.#lockedRoutes;
    this.#lockedRoutes = new Set();
    const alone = isolation.active;
    const demand = this.#readDemand(taken.length > 0, without);
    if (taken.length === 0 && demand.routes.length === 0) return 0;
    const { routes, total } = this.lanes.limit(demand);
    const completions = taken.map(({ completion }) => completion);
    // Cleared before the statement is sent: who rings while it is under way may mean what it could not see.
    if (total > 0) this.#hungry = demand.total > total;
    const request = this.#plan({ routes, total }, alone);
    const sentAt = performance.now();
    this.lanes.begin(lane, total);
    let result;
    try {
      const { dead } = this.#parts.demand;
      const asked = request && { ...request, dead };
      result = await database.claims.settleAndClaim(this.#workerId, completions, asked, lane);
    } catch (error) {
      this.expect();
      if (request) this.#planner.cursor.failed(request);
      // Awaited here: until then this lane is at work.
      if (isRowError(error) && taken.length > 0) return await this.#separate(taken);
      settler.putBack(taken);
      if (request && (await unreadable.end(error, this.#workerId, request))) {
        this.#parts.wake();
        return 0;
      }
      throw error;
    } finally {
      this.lanes.end(lane);
    }
    if (request && !alone) this.#learn(request, result, performance.now() - sentAt);
    start(result.claimed);
    await settler.settled(taken, result);
    this.#goOn(result, without, alone && total > 0);
    return result.claimed.length;
  }

  /** Slots that are free now: none beside an attempt that is run alone. */
  get free(): number {
    const { settler, demand, isolation, mayClaim } = this.#parts;
    return isolation.active || !mayClaim() ? 0 : demand.free(settler.failing + this.lanes.underWay);
  }

  /** What may be claimed now: nothing beside an attempt that is run alone. */
  #readDemand(hasOutcomes: boolean, without: ReadonlySet<Route>): Demand {
    const { settler, demand, isolation, pauses, running, mayClaim } = this.#parts;
    if (!mayClaim()) return nothing;
    if (isolation.active) {
      const holdsOthers = running.size > 0 || settler.pending > 0 || this.lanes.underWay > 0;
      return holdsOthers ? nothing : demand.readIsolated(pauses);
    }
    const held = settler.failing + this.lanes.underWay;
    return this.#hungry || hasOutcomes ? demand.read(held, pauses.with(without)) : nothing;
  }

  #plan(demand: Demand, alone: boolean): ClaimRequest | undefined {
    if (demand.total === 0) return undefined;
    // The few attempts that are run alone have ways of their own.
    return alone
      ? { shape: 'counted', stretches: demand.routes, total: demand.total }
      : this.#planner.plan(demand);
  }

  #learn(request: ClaimRequest, result: SettleAndClaimResult, tookMs: number): void {
    const { cursor } = this.#planner;
    this.#planner.learn(request, result, tookMs);
    if (!isBounded(request)) return this.#tellPause(cursor);
    // Nobody may ring for what lies behind the cursor.
    if (result.claimed.length === 0) this.#parts.reminders.sweepIn(cursor.sweepInMs);
  }

  #tellPause({ sweepPauseMs, sweepsRarely }: ClaimCursor): void {
    const told = this.#toldRarely;
    this.#toldRarely = sweepsRarely;
    if (told || !sweepsRarely) return;
    const seconds = Math.ceil(sweepPauseMs / 1_000);
    this.#parts.events.emit('warning', {
      message:
        `tasks that nobody rings for, such as rows set back by hand, may wait for ${seconds} s: dead entries pile up in ` +
        'the index of pending tasks. Is there a session with an old transaction (pg_stat_activity.backend_xmin)?',
    });
  }

  #goOn(result: SettleAndClaimResult, without: ReadonlySet<Route>, alone: boolean): void {
    const { isolation, reminders, wake } = this.#parts;
    const { claimed, lockedRoutes } = result;
    if (result.refused) {
      // They are left out for a moment: there may be others.
      this.expectAnything();
      wake();
      reminders.retryLocked();
    }
    if (claimed.length > 0) {
      wake();
      reminders.expectMore();
    }
    if (alone) {
      if (claimed.length > 0) isolation.claimed();
      else isolation.end();
    } else if (lockedRoutes.length > 0) {
      // When all that could be had was locked, the other routes come first; before that they would only get ahead of it.
      if (claimed.length === 0) this.#lockedRoutes = new Set([...without, ...lockedRoutes]);
      wake();
      reminders.retryLocked();
    }
  }

  /**
   * The database refused an outcome, or what was to be claimed beside it: every outcome goes alone, and only the one
   * that is refused then fails its attempt.
   */
  async #separate(taken: ReturnType<Settler['take']>): Promise<number> {
    const { settler, database, executor } = this.#parts;
    for (const one of taken) {
      try {
        await settler.settled([one], await database.claims.settleAndClaim(this.#workerId, [one.completion]));
      } catch (refusal) {
        if (isRowError(refusal)) executor.fail(one.claimed, refusal);
        else settler.putBack([one]);
      }
    }
    this.#parts.wake();
    return 0;
  }
}
