import type { Route, RouteDemand } from '../attempt.js';
import type { ClaimDemand, SettleAndClaimResult } from '../claims.js';
import { ClaimPlanner, isOfIsolated } from './claim-planner.js';
import { isBounded, type ClaimAnswer, type ClaimRequest } from './claim-request.js';
import { SweepWarning } from './sweep-warning.js';

/** Ms after which rows locked by another session are claimed again: no ring announces that a lock was released. */
const lockedAgainMs = 1_000;

/** Ms without work after which an empty claim is doubted: under load that would cost every wake-up a statement. */
const idleMs = 400;

export interface ClaimRoundsParts {
  /** Told what people should know of the database. */
  readonly warn: (message: string) => void;
  /** Where the database tells of sessions with old transactions. */
  readonly sessions: string;
  /** True when an attempt of some route is due, even if another session has locked it. */
  readonly wouldClaim: (routes: readonly RouteDemand[]) => Promise<boolean>;
}

/** One worker's claims, whatever statements they are made of: where each looks, and what follows from its answer. */
export class ClaimRounds {
  readonly planner = new ClaimPlanner();
  readonly #wouldClaim: ClaimRoundsParts['wouldClaim'];
  readonly #sweepWarning: SweepWarning;
  /** When to claim again what is locked, by `performance.now()`. */
  #lockedAgainAt = Infinity;
  /** When a claim last found something, by `performance.now()`. */
  #foundAt = -Infinity;

  constructor({ warn, sessions, wouldClaim }: ClaimRoundsParts) {
    this.#wouldClaim = wouldClaim;
    this.#sweepWarning = new SweepWarning(warn, sessions);
  }

  /**
   * @param send claims what a request asks for
   * @param leavesOut true while claims leave out attempts that cannot be changed: then they start at the front, because the
   * others lie behind these
   */
  async claim(
    demand: ClaimDemand,
    send: (request: ClaimRequest) => Promise<ClaimAnswer>,
    leavesOut = false,
  ): Promise<SettleAndClaimResult> {
    if (performance.now() >= this.#lockedAgainAt) this.#lockedAgainAt = Infinity;
    const isPlain = leavesOut || isOfIsolated(demand);
    const request = this.planner.plan(demand, isPlain);
    const sentAt = performance.now();
    const answer = await send(request).catch((error: unknown) => {
      this.planner.cursor.failed(request);
      throw error;
    });
    const { settledOnly, claimed, isCut } = answer;
    // A claim has not seen what lies before its positions.
    const moreRoutes = isBounded(request) ? undefined : answer.moreRoutes;
    const told = { settledOnly, claimed, isCut, moreRoutes };
    // Those that are run alone are few, and the claims of others learn nothing from them.
    if (isOfIsolated(demand)) return { ...this.#around(answer, []), ...told };
    if (!isPlain) this.planner.learn(request, answer, performance.now() - sentAt);
    if (!isBounded(request)) this.#sweepWarning.check(this.planner.cursor);
    if (claimed.length > 0) this.#foundAt = performance.now();
    else if (!isBounded(request) && (await this.#skipsLocked(demand))) this.#claimLockedAgain();
    // No ring may announce what lies behind the cursor.
    const sweepInMs = isBounded(request) && claimed.length === 0 ? this.planner.cursor.sweepInMs : Infinity;
    return { ...this.#around(answer, answer.lockedRoutes, sweepInMs), ...told };
  }

  /** True when a claim from the front that found nothing has left out what other sessions have locked. */
  async #skipsLocked({ routes }: ClaimDemand): Promise<boolean> {
    if (performance.now() - this.#foundAt < idleMs) return false;
    // The next statement meets the same error; the answer of this one must not be lost with it.
    return this.#wouldClaim(routes).catch(() => false);
  }

  #claimLockedAgain(): void {
    this.#lockedAgainAt = Math.min(this.#lockedAgainAt, performance.now() + lockedAgainMs);
  }

  /** What a claim could not take, and when to claim again for that. */
  #around(
    { refused }: ClaimAnswer,
    blockedRoutes: readonly Route[],
    sweepInMs = Infinity,
  ): Pick<SettleAndClaimResult, 'blockedRoutes' | 'claimAgain' | 'lookAgainInMs'> {
    // They are left out for a moment: there may be others.
    if (refused.length > 0) this.planner.cursor.reset();
    const claimAgain = refused.length > 0 || blockedRoutes.length > 0;
    if (claimAgain) this.#claimLockedAgain();
    const inMs = Math.min(this.#lockedAgainAt - performance.now(), sweepInMs);
    return { blockedRoutes, claimAgain, lookAgainInMs: inMs === Infinity ? undefined : Math.max(0, inMs) };
  }
}

/** Of a call that only completes. */
export function onlySettled(settledOnly: readonly string[] | undefined): SettleAndClaimResult {
  return {
    settledOnly,
    claimed: [],
    blockedRoutes: [],
    claimAgain: false,
    isCut: false,
    moreRoutes: undefined,
    lookAgainInMs: undefined,
  };
}
