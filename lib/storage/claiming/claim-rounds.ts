import { WalkPace } from '../../timing/walk-pace.js';
import type { Route, RouteDemand } from '../attempt.js';
import type { ClaimDemand, SettleAndClaimResult } from '../claims.js';
import { isolatedPrefix } from '../route.js';
import { ClaimCursor, isBounded, type ClaimAnswer, type ClaimRequest } from './claim-request.js';

/** Ms after which rows locked by another session are claimed again: no ring announces that a lock was released. */
const lockedAgainMs = 1_000;

/** Ms without work after which an empty claim is doubted: under load that would cost every wake-up a statement. */
const idleMs = 400;

/** Attempts that are seen of each stretch at least: they cost next to nothing. */
const leastDepth = 16;

/** Claims that count first, after one has met work on several routes. */
const countingClaims = 16;

/** From one search for the least id to the next at least: old partitions come to an end in hours. */
const searchPauseMs = 60_000;

export interface ClaimRoundsParts {
  /** Ms from one sweep to the next at least. Default 0: as often as they are cheap. */
  readonly leastSweepPauseMs?: number;
  /** Told what people should know of the database. */
  readonly warn: (message: string) => void;
  /** Where the database tells of sessions with old transactions. */
  readonly sessions: string;
  /** True when an attempt of some route is due, even if another session has locked it. */
  readonly wouldClaim: (routes: readonly RouteDemand[]) => Promise<boolean>;
  /**
   * Finds below which id no attempt is unfinished; undefined when it cannot say. Default: all ids are looked at.
   */
  readonly findLeastId?: () => Promise<bigint | undefined>;
}

/**
 * One worker's claims, whatever statements they are made of: where each looks, given what earlier ones have found, and what follows
 * from its answer.
 *
 * In a table of sixty partitions a claim that looks into each of them takes twice as long, and in nearly all of them every attempt has
 * ended: ids are given in ascending order, so these are the lower ones. So bounded claims leave out the ids below which none is
 * unfinished. What comes to be unfinished there later was set back by hand, or its commit took longer than a whole partition took to
 * fill: a sweep finds it, and then all partitions are looked into until the next search.
 */
export class ClaimRounds {
  readonly cursor: ClaimCursor;
  readonly #parts: ClaimRoundsParts;
  /** Part of a claim that each stretch is looked through for: more than it is likely to give. */
  #share = 1;
  /** Claims that are still to count: while several routes have work, locking at once would lock far too much. */
  #counting = 0;
  readonly #searches = new WalkPace(searchPauseMs);
  #isSearching = false;
  /** The least id that bounded claims look at; undefined while all are looked at. */
  #leastId: bigint | undefined;
  /** When to claim again what is locked, by `performance.now()`. */
  #lockedAgainAt = Infinity;
  /** When a claim last found something, by `performance.now()`. */
  #foundAt = -Infinity;
  /** True while people were told that sweeps are rare. */
  #isWarned = false;

  constructor(parts: ClaimRoundsParts) {
    this.#parts = parts;
    this.cursor = new ClaimCursor(parts.leastSweepPauseMs);
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
    const sentAt = performance.now();
    if (sentAt >= this.#lockedAgainAt) this.#lockedAgainAt = Infinity;
    // Those that are run alone are few, and the claims of others learn nothing from them.
    const isAlone = demand.routes.every(({ route }) => route.startsWith(isolatedPrefix));
    const isPlain = leavesOut || isAlone;
    const request = isPlain ? fromTheFront(demand) : this.#plan(demand);
    const bounded = isBounded(request);
    const answer = await send(request).catch((error: unknown) => {
      this.cursor.failed(request);
      throw error;
    });
    const { settledOnly, claimed, isCut } = answer;
    // A claim has not seen what lies before its positions.
    const moreRoutes = bounded ? undefined : answer.moreRoutes;
    const told = { settledOnly, claimed, isCut, moreRoutes };
    if (isAlone) return { ...this.#follow(answer, []), ...told };
    if (!isPlain) this.#learn(request, answer, performance.now() - sentAt);
    if (!bounded) this.#tellOfRareSweeps();
    if (claimed.length > 0) this.#foundAt = performance.now();
    else if (!bounded && (await this.#skipsLocked(demand))) this.#claimLockedAgain();
    const { findLeastId } = this.#parts;
    if (findLeastId && claimed.length > 0 && this.#searches.due) void this.#searchLeastId(findLeastId);
    // No ring may announce what lies behind the cursor.
    const sweepInMs = bounded && claimed.length === 0 ? this.cursor.sweeps.dueInMs : Infinity;
    return { ...this.#follow(answer, answer.lockedRoutes, sweepInMs), ...told };
  }

  /** The request that is sent next; {@link #learn} or `cursor.failed` says how it ended. */
  #plan({ routes, total, order }: ClaimDemand): ClaimRequest {
    const request: ClaimRequest = {
      shape: order === 'listed' ? 'shared' : this.#counting > 0 ? 'counted' : 'single',
      stretches: this.cursor.stretches(routes),
      total,
      depth: Math.min(total, Math.max(leastDepth, Math.ceil(total * this.#share))),
      leastId: this.#leastId,
    };
    this.cursor.sent(request);
    return request;
  }

  /** @param tookMs from sending the claim to its answer */
  #learn(request: ClaimRequest, answer: ClaimAnswer, tookMs: number): void {
    const { claimed, contended, isCut } = answer;
    const isCounted = request.shape === 'counted';
    const routes = new Set<Route>();
    for (const { route } of claimed) routes.add(route);
    if (contended || routes.size > 1) this.#counting = countingClaims;
    else if (isCounted) this.#counting -= 1;
    if (isCounted && routes.size > 0) {
      // Twice what a route gives on the average; after a claim that had not seen enough, twice as much as before.
      const isShort = isCut && claimed.length < request.total;
      this.#share = isShort ? Math.min(1, 2 * this.#share) : 2 / routes.size;
    }
    this.cursor.learn(request, answer, tookMs);
    const least = this.#leastId;
    if (least === undefined || isBounded(request)) return;
    if (claimed.some(({ id }) => BigInt(id) < least)) this.#leastId = undefined;
  }

  /** Raises or lowers the least id. Claims are right without it, and the next statement meets the same error. */
  async #searchLeastId(find: () => Promise<bigint | undefined>): Promise<void> {
    if (this.#isSearching) return;
    this.#isSearching = true;
    const before = this.#leastId;
    try {
      this.#leastId = await this.#searches.walk(find);
      if (this.#leastId !== before) this.cursor.boundsMoved();
    } catch {
      // The next claim that finds something searches again.
    }
    this.#isSearching = false;
  }

  /** True when a claim from the front that found nothing has left out what other sessions have locked. */
  async #skipsLocked({ routes }: ClaimDemand): Promise<boolean> {
    if (performance.now() - this.#foundAt < idleMs) return false;
    // The next statement meets the same error; the answer of this one must not be lost with it.
    return this.#parts.wouldClaim(routes).catch(() => false);
  }

  #claimLockedAgain(): void {
    this.#lockedAgainAt = Math.min(this.#lockedAgainAt, performance.now() + lockedAgainMs);
  }

  /** What a claim could not take, and when to claim again for that. */
  #follow(
    { refused }: ClaimAnswer,
    blockedRoutes: readonly Route[],
    sweepInMs = Infinity,
  ): Pick<SettleAndClaimResult, 'blockedRoutes' | 'claimAgain' | 'lookAgainInMs'> {
    // They are left out for a moment: there may be others.
    if (refused.length > 0) this.cursor.reset();
    const claimAgain = refused.length > 0 || blockedRoutes.length > 0;
    if (claimAgain) this.#claimLockedAgain();
    const inMs = Math.min(this.#lockedAgainAt - performance.now(), sweepInMs);
    return { blockedRoutes, claimAgain, lookAgainInMs: inMs === Infinity ? undefined : Math.max(0, inMs) };
  }

  /** Once, and again after they were frequent. */
  #tellOfRareSweeps(): void {
    const { sweepsRarely, sweeps } = this.cursor;
    const wasWarned = this.#isWarned;
    this.#isWarned = sweepsRarely;
    if (wasWarned || !sweepsRarely) return;
    const { warn, sessions } = this.#parts;
    warn(
      `tasks without a ring, such as rows reset by hand, may wait for ${Math.ceil(sweeps.pauseMs / 1_000)} s: dead ` +
        `entries are piling up in the index of pending tasks. Is there a session with an old transaction (${sessions})?`,
    );
  }
}

/** A request that depends on no claim before it. */
export function fromTheFront({ routes, total, order }: ClaimDemand): ClaimRequest {
  return { shape: order === 'listed' ? 'shared' : 'counted', stretches: routes, total, depth: total };
}
