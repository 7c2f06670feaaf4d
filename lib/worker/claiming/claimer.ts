import type { Liveness } from '../../coordination/liveness.js';
import type { ClaimedTask, Route } from '../../storage/attempt.js';
import type { ClaimDemand, Claims, SettleAndClaimResult } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { blamesRow } from '../../storage/error-kind.js';
import type { Executor } from '../running/executor.js';
import type { HiddenRows } from '../standstill.js';
import type { RunningTasks } from '../running/running-tasks.js';
import type { Settler } from '../running/settler.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import { type Capacity, type Demand, type Demands, type KnownDemand, nothing } from './routes.js';
import { FairShares } from './fair-shares.js';
import type { Isolation } from './isolation.js';
import type { Pauses } from './pauses.js';
import { type Agenda, isClaiming, type Loop } from '../agenda.js';
import type { RouteMap } from './route-map.js';
import type { Unreadable } from './unreadable.js';
import { Signal } from '../../timing/signal.js';

export interface ClaimerParts {
  readonly database: Pick<QueueDatabase, 'classify'>;
  readonly claims: Claims;
  readonly liveness: Pick<Liveness, 'alive'>;
  readonly hidden: Pick<HiddenRows, 'found'>;
  readonly settler: Settler;
  readonly capacity: Pick<Capacity, 'free'>;
  readonly demands: Pick<Demands, 'read'>;
  readonly map: RouteMap;
  readonly executor: Pick<Executor, 'fail'>;
  readonly isolation: Isolation;
  readonly pauses: Pauses;
  readonly agenda: Agenda;
  readonly loop: Pick<Loop, 'mode'>;
  readonly running: RunningTasks;
  readonly underWay: StatementsUnderWay;
  readonly unreadable: Unreadable;
  readonly options: Pick<WorkerOptions, 'order'>;
}

type Outcomes = ReturnType<Settler['take']>;

/** The answer of one statement. */
export interface Turn {
  /** To be started at once. */
  readonly claimed: readonly ClaimedTask[];
  /** Outcomes that it has written, but for those that `settledOnly` leaves out. */
  readonly outcomes: Outcomes;
  readonly settledOnly: SettleAndClaimResult['settledOnly'];
  /** True when another turn may find more. */
  readonly again: boolean;
}

const noRoutes: ReadonlySet<Route> = new Set();
const idle: Turn = { claimed: [], outcomes: [], settledOnly: undefined, again: false };

/** Sends the statement that settles outcomes and claims new attempts: decides how many, and of which routes. */
export class Claimer {
  readonly #parts: ClaimerParts;
  readonly #shares: FairShares | undefined;
  /** True while there may be more to claim: after a ring, a look, or a claim that found something. */
  #expectsMore = false;
  /** Routes left out of the next claim: their best attempts are locked, and others would have to wait for them. */
  #blocked = noRoutes;
  /** Routes that the last claim has left nothing of, when a limit kept it from more; none once something is heard. */
  #emptied = noRoutes;

  constructor(parts: ClaimerParts) {
    this.#parts = parts;
    this.#shares = parts.options.order === 'fair' ? new FairShares() : undefined;
  }

  /** Slots that are free now: none beside an attempt that is run alone. */
  get free(): number {
    const { settler, capacity, underWay } = this.#parts;
    return this.#isAlone || !this.#mayClaim() ? 0 : capacity.free(settler.unwritten + underWay.slots);
  }

  /** There may be something to claim. */
  expect(): void {
    this.#expectsMore = true;
    this.#emptied = noRoutes;
  }

  /** There may be tasks that no ring announced. */
  expectAnything(): void {
    this.#parts.claims.invalidate();
    this.expect();
  }

  /** A ring was about attempts due since then (ms), or inserted lately, of that priority or a lower one. */
  expectSince(dueMs: number | 'lately', highest: number): void {
    this.#parts.claims.heard(dueMs, highest);
    this.expect();
  }

  /**
   * One round trip: outcomes go in, new attempts come out. The statement counts as under way until the caller has
   * started these.
   */
  async turn(name: StatementName): Promise<Turn> {
    const { settler, claims, map, agenda, underWay } = this.#parts;
    if (agenda.pollMissed) this.expectAnything();
    const outcomes = settler.take(underWay.share);
    const without = this.#blocked;
    this.#blocked = noRoutes;
    const isAlone = this.#isAlone;
    const free = this.#readDemand(outcomes.length > 0, without);
    if (outcomes.length === 0 && free.always.length === 0 && free.chosen.length === 0) return idle;
    const total = Math.min(free.total, underWay.share);
    // Cleared before the statement is sent: a ring while it is under way may be about what it could not see.
    if (total > 0) this.#expectsMore = free.total > total;
    const sentAt = map.clock;
    const demand = total === 0 ? undefined : this.#inOrder(free, total, isAlone);
    // What it settles is held until it is answered.
    underWay.begin(name, Math.max(total, outcomes.length));
    let result: SettleAndClaimResult;
    try {
      result = await claims.settleAndClaim(
        outcomes.map(({ completion }) => completion),
        demand,
      );
    } catch (error) {
      return this.#goOnAfter(error, outcomes, demand);
    }
    const { claimed, settledOnly } = result;
    if (demand && isAlone) this.#followIsolated(claimed);
    else if (demand && (map.heads.size > 0 || this.#shares)) this.#learn(demand, result, sentAt);
    if (demand) this.#emptied = this.#emptiedBy(demand, result);
    // Other routes may have what these did not.
    const isLeft = claimed.length === 0 && (free.isLeftOut || (free.chosen.length > 0 && map.heads.size > 0));
    const again = this.#follow(result, without) || isLeft;
    this.#expectsMore ||= again;
    return { claimed, outcomes, settledOnly, again };
  }

  #mayClaim(): boolean {
    const { loop, liveness, hidden } = this.#parts;
    return isClaiming(loop.mode) && liveness.alive && hidden.found === undefined;
  }

  get #isAlone(): boolean {
    return this.#parts.loop.mode === 'alone';
  }

  /** What may be claimed now: nothing beside an attempt that is run alone. */
  #readDemand(hasOutcomes: boolean, without: ReadonlySet<Route>): Demand {
    const { settler, demands, isolation, pauses, running, underWay } = this.#parts;
    if (!this.#mayClaim()) return nothing;
    if (this.#isAlone) {
      const holdsOthers = running.size > 0 || settler.pending > 0 || underWay.slots > 0;
      return holdsOthers ? nothing : { ...nothing, total: 1, always: isolation.routes };
    }
    if (!this.#expectsMore && !hasOutcomes) return nothing;
    const held = settler.failing + underWay.slots;
    const except = pauses.routes.size > 0 ? pauses.with(without) : without;
    const demand = demands.read(held, underWay.share, except);
    return hasOutcomes || this.#mayFind(demand) ? demand : nothing;
  }

  /** False when all that could be claimed is of routes that the last claim has emptied: then no statement is sent for nothing. */
  #mayFind({ always, chosen, isLeftOut }: Demand): boolean {
    return isLeftOut || chosen.length > 0 || always.some(({ route }) => !this.#emptied.has(route));
  }

  #inOrder({ always, chosen }: Demand, total: number, isAlone: boolean): ClaimDemand {
    const routes = chosen.length === 0 ? always : [...always, ...chosen];
    if (!this.#shares || isAlone) return { routes, total, order: 'age' };
    return { routes: this.#shares.divide(routes, total), total, order: 'listed' };
  }

  #learn(
    { routes, total }: ClaimDemand,
    { claimed, blockedRoutes, claimAgain, isCut, moreRoutes }: SettleAndClaimResult,
    sentAt: number,
  ): void {
    const isKnown = ({ hasWork }: KnownDemand): boolean => hasWork === true;
    // Behind what is locked the claim has not looked, nor behind what it has not seen.
    const isDrained = claimed.length < total && !claimAgain && !isCut;
    const end = { sentAt, isDrained, blocked: blockedRoutes, more: moreRoutes };
    this.#parts.map.answered(routes.filter(isKnown), claimed, end);
    const others = routes.filter((demand) => !isKnown(demand));
    this.#shares?.learn(others, new Set(claimed.map(({ route }) => route)));
  }

  /** None after a ring while it was under way, which may have been about what it could not see. */
  #emptiedBy(
    { routes, total }: ClaimDemand,
    { claimed, claimAgain, isCut }: SettleAndClaimResult,
  ): ReadonlySet<Route> {
    const isSure = claimed.length < total && !claimAgain && !isCut && !this.#expectsMore;
    if (!isSure) return noRoutes;
    const given = new Map<Route, number>();
    for (const { route } of claimed) given.set(route, (given.get(route) ?? 0) + 1);
    const left = routes.filter(({ route, limit }) => (given.get(route) ?? 0) < limit);
    return left.length < routes.length ? new Set(left.map(({ route }) => route)) : noRoutes;
  }

  #followIsolated(claimed: readonly ClaimedTask[]): void {
    const { isolation } = this.#parts;
    if (claimed.length > 0) isolation.claimed();
    else isolation.end();
  }

  /**
   * Sets the timers that an answer asks for. Returns whether to claim again.
   *
   * @param without routes that the claim has left out
   */
  #follow(
    { claimed, blockedRoutes, claimAgain, lookAgainInMs }: SettleAndClaimResult,
    without: ReadonlySet<Route>,
  ): boolean {
    const { agenda } = this.#parts;
    if (lookAgainInMs !== undefined) agenda.claimIn(lookAgainInMs);
    if (claimed.length > 0) agenda.expectMore();
    // Once everything claimable was locked, the other routes come first; before that they would overtake it.
    else if (blockedRoutes.length > 0) this.#blocked = new Set([...without, ...blockedRoutes]);
    return claimAgain || claimed.length > 0;
  }

  /** The statement failed: its outcomes must not be lost, and one row must not stop the others. */
  async #goOnAfter(error: unknown, outcomes: Outcomes, demand: ClaimDemand | undefined): Promise<Turn> {
    const { database, settler, unreadable } = this.#parts;
    this.expect();
    if (outcomes.length > 0 && blamesRow(database.classify(error))) {
      await this.#separate(outcomes);
      return { ...idle, again: true };
    }
    settler.putBack(outcomes);
    if (demand && (await unreadable.end(error, demand))) return { ...idle, again: true };
    throw error;
  }

  /**
   * The database refused an outcome, or what was to be claimed beside it: every outcome goes alone, and only the one
   * that is refused then fails its attempt. What its handler returned is no reason for that: the work is done.
   */
  async #separate(outcomes: Outcomes): Promise<void> {
    const { settler, executor } = this.#parts;
    for (const one of outcomes) {
      const refusal = await this.#settleAlone(one);
      if (refusal === undefined) continue;
      const without = settler.withoutReturned(one, refusal);
      const isRefused = without === undefined || (await this.#settleAlone(without)) !== undefined;
      if (isRefused) executor.fail(one.claimed, refusal);
    }
  }

  /** Returns why the database refuses that outcome; undefined when it took it, or cannot be asked now. */
  async #settleAlone(one: Outcomes[number]): Promise<unknown> {
    const { settler, claims, database } = this.#parts;
    try {
      await settler.settled([one], await claims.settleAndClaim([one.completion]));
    } catch (error) {
      if (blamesRow(database.classify(error))) return error;
      settler.putBack([one]);
    }
    return undefined;
  }
}

/** Which of the two statements that a worker may keep under way. */
export type StatementName = 'first' | 'second';

/**
 * What the statements under way may claim. A worker with many slots keeps two under way, each for half of its slots, where
 * its database gains by that.
 */
export class StatementsUnderWay {
  /** Attempts that one statement settles and claims at most. */
  readonly share: number;
  /** Set when the first statement is sent: the second may go along. */
  readonly firstSent = new Signal();
  readonly #slots = new Map<StatementName, number>();
  /** Slots that they may fill, or have yet to free. */
  slots = 0;

  /** @param parallel statements that are worth keeping under way */
  constructor(concurrency: number, parallel: number) {
    this.share = Math.ceil(concurrency / parallel);
  }

  has(name: StatementName): boolean {
    return this.#slots.has(name);
  }

  begin(name: StatementName, slots: number): void {
    this.end(name);
    this.slots += slots;
    this.#slots.set(name, slots);
    if (name === 'first') this.firstSent.set();
  }

  end(name: StatementName): void {
    this.slots -= this.#slots.get(name) ?? 0;
    this.#slots.delete(name);
  }
}
