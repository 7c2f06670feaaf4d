import { readBoolean } from '../columns.js';
import type { ClaimedTask, Completion, Route, RouteDemand, WorkerId } from '../attempt.js';
import type { ClaimDemand, Claims, ClaimsOptions, SettleAndClaimResult, UnreadableAmong } from '../claims.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { ClaimPlanner, isOfIsolated } from './claims/claim-planner.js';
import { isBounded, type ClaimAnswer, type ClaimRequest } from './claims/claim-request.js';
import { claimForm, claimValues, isDeadOnly } from './claims/claim-values.js';
import { readAnswer, readSettledOnly } from './claims/read-answer.js';
import { SweepWarning } from './claims/sweep-warning.js';
import { settleValues } from './attempt-values.js';
import type { TextRow } from './connections/control-connection.js';
import type { TaskLocks } from './interop/task-locks.js';
import { classifyError } from './postgres-errors.js';
import type { QueueAccess } from './queue-access.js';
import { readClaimed } from './read-rows.js';
import type { Statement } from './statement.js';
import type { ClaimLock } from './statements/settle-and-claim.js';
import { UnreadableTasks } from './unreadable-tasks.js';

/**
 * With fewer slots two statements cost more than they gain: measured with a bare loop, 100 slots lose 4%, 250 gain 11%.
 */
const parallelFrom = 200;

/** Ms after which rows locked by another session are claimed again: no ring announces that a lock was released. */
const lockedAgainMs = 1_000;

/** Ms without work after which an empty claim is doubted: under load that would cost every wake-up a statement. */
const idleMs = 400;

/**
 * {@link Claims} by `for update skip locked`. Two calls at once take a connection each: the server works on one while this
 * process runs what the other has claimed.
 */
export class PostgresClaims implements Claims {
  readonly parallel: number;
  readonly #access: QueueAccess;
  readonly #workerId: WorkerId;
  readonly #locks: TaskLocks | undefined;
  readonly #lock: ClaimLock;
  readonly #planner = new ClaimPlanner();
  readonly #sweepWarning: SweepWarning;
  /** Calls under way on the first connection. */
  #onFirst = 0;
  /** True while another session has locked attempts that have ended here. */
  #meetsLocks = false;
  /** When to claim again what is locked, by `performance.now()`. */
  #lockedAgainAt = Infinity;
  #searchesFloor = false;
  /** When a claim last found something, by `performance.now()`. */
  #foundAt = -Infinity;

  /** @param locks only where workers of nsj-queue-lib serve the same table */
  constructor(
    access: QueueAccess,
    workerId: WorkerId,
    locks: TaskLocks | undefined,
    { concurrency, warn }: ClaimsOptions,
  ) {
    this.#access = access;
    this.#workerId = workerId;
    this.#locks = locks;
    this.#lock = locks ? 'task' : 'row';
    this.#sweepWarning = new SweepWarning(warn);
    // Locks of tasks belong to one session.
    this.parallel = concurrency >= parallelFrom && !locks ? 2 : 1;
  }

  openAnother(): Promise<void> | undefined {
    return this.#access.control?.second.opening();
  }

  async settleAndClaim(
    completions: readonly Completion[],
    demand?: ClaimDemand,
  ): Promise<SettleAndClaimResult> {
    if (!demand || demand.routes.length === 0) {
      return { ...nothingClaimed, settledOnly: await this.#settle(completions) };
    }
    if (performance.now() >= this.#lockedAgainAt) this.#lockedAgainAt = Infinity;
    const request = this.#planner.plan(demand);
    const sentAt = performance.now();
    const answer = await this.#settleAndClaim(completions, request).catch((error: unknown) => {
      this.#planner.cursor.failed(request);
      this.#locks?.invalidate();
      throw error;
    });
    const { settledOnly, claimed, isCut } = answer;
    // A claim has not seen what lies before its positions, nor what it was told to leave out.
    const moreRoutes = isBounded(request) || this.#locks ? undefined : answer.moreRoutes;
    const told = { settledOnly, claimed, isCut, moreRoutes };
    // Those that are run alone are few, and the claims of others learn nothing from them.
    if (isOfIsolated(demand)) return { ...this.#around(answer, []), ...told };
    this.#planner.learn(request, answer, performance.now() - sentAt);
    if (!isBounded(request)) this.#sweepWarning.check(this.#planner.cursor);
    if (claimed.length > 0) this.#found();
    else if (!isBounded(request) && (await this.#skipsLocked(demand))) this.#claimLockedAgain();
    // No ring may announce what lies behind the cursor.
    const sweepInMs = isBounded(request) && claimed.length === 0 ? this.#planner.cursor.sweepInMs : Infinity;
    return { ...this.#around(answer, answer.lockedRoutes, sweepInMs), ...told };
  }

  /** A claim found something. */
  #found(): void {
    this.#foundAt = performance.now();
    if (!this.#planner.floorDue || this.#searchesFloor) return;
    this.#searchesFloor = true;
    // Claims are right without it, and the next statement meets the same error.
    const search = this.#planner.findFloor(() => this.#findFloor()).catch(() => undefined);
    void search.then(() => (this.#searchesFloor = false));
  }

  async #findFloor(): Promise<bigint | undefined> {
    const [row] = await this.#access.ask(this.#access.sql.oldestUnfinished, []);
    const id = row?.['id'];
    return id == null ? undefined : BigInt(id);
  }

  heard(dueMs: number, highestPriority: number): void {
    this.#planner.cursor.moveBack(dueMs, highestPriority);
  }

  invalidate(): void {
    this.#planner.cursor.reset();
  }

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    const { sql, identity } = this.#access;
    const statement = sql.claimUnattended(this.#lock);
    const rows = await this.#access.ask(statement, [this.#workerId, limit]).catch((error: unknown) => {
      this.#locks?.invalidate();
      throw error;
    });
    const claimed = rows.map((row) => readClaimed(row, identity));
    this.#locks?.learn(this.#workerId, claimed, []);
    return claimed;
  }

  async wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    const values = [routes.map(({ route }) => route), routes.map(isDeadOnly)];
    const [row] = await this.#access.ask(this.#access.sql.wouldClaim, values);
    return readBoolean(row?.['found']);
  }

  endUnreadable(among: UnreadableAmong): Promise<readonly UnreadableTask[]> {
    return new UnreadableTasks(this.#access).end(this.#workerId, among, this.#locks?.leftOut);
  }

  /**
   * One statement for both, unless completions go better alone. Beside a claim on the other connection they do: the snapshot of
   * a statement that completes first is old when it claims, and what was claimed meanwhile is looked up, locked and left again,
   * while the other one waits to complete it (a fifth of the time). And where completions wait for what another session has
   * locked, they go without that.
   */
  async #settleAndClaim(completions: readonly Completion[], request: ClaimRequest): Promise<ClaimAnswer> {
    const together = completions.length === 0 || (this.parallel === 1 && !this.#meetsLocks);
    if (together) {
      try {
        return await this.#claim(completions, request);
      } catch (error) {
        if (completions.length === 0 || classifyError(error) !== 'locked') throw error;
      }
    }
    const settledOnly = await this.#settle(completions);
    this.#meetsLocks = settledOnly !== undefined;
    return { ...(await this.#claim([], request)), settledOnly };
  }

  async #settle(completions: readonly Completion[]): Promise<readonly string[] | undefined> {
    return readSettledOnly(await this.#ask(this.#access.sql.settle, this.#settleValues(completions)));
  }

  async #claim(completions: readonly Completion[], request: ClaimRequest): Promise<ClaimAnswer> {
    const { sql, identity } = this.#access;
    const locks = this.#locks;
    const statement = sql.settleAndClaim(claimForm(request, this.#lock));
    const values = [...this.#settleValues(completions), ...claimValues(request, locks?.leftOut)];
    const answer = readAnswer(await this.#ask(statement, values), request.stretches, identity);
    locks?.learn(this.#workerId, answer.claimed, answer.refused);
    return answer;
  }

  #settleValues(completions: readonly Completion[]): readonly unknown[] {
    const { texts } = this.#access;
    return settleValues(
      this.#workerId,
      completions.map((completion) => texts.completion(completion)),
    );
  }

  /** True when a claim from the front that found nothing has left out what other sessions have locked. */
  async #skipsLocked({ routes }: ClaimDemand): Promise<boolean> {
    if (performance.now() - this.#foundAt < idleMs) return false;
    // The next statement meets the same error; the answer of this one must not be lost with it.
    return this.wouldClaim(routes).catch(() => false);
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
    if (refused.length > 0) this.#planner.cursor.reset();
    const claimAgain = refused.length > 0 || blockedRoutes.length > 0;
    if (claimAgain) this.#claimLockedAgain();
    const inMs = Math.min(this.#lockedAgainAt - performance.now(), sweepInMs);
    return { blockedRoutes, claimAgain, lookAgainInMs: inMs === Infinity ? undefined : Math.max(0, inMs) };
  }

  /** Calls on one connection run in order, so one that comes while the first connection is at work takes the second. */
  async #ask(statement: Statement, values: readonly unknown[]): Promise<readonly TextRow[]> {
    if (this.parallel > 1 && this.#onFirst > 0) return this.#access.ask(statement, values, 'second');
    this.#onFirst += 1;
    try {
      return await this.#access.ask(statement, values);
    } finally {
      this.#onFirst -= 1;
    }
  }
}

const nothingClaimed = {
  claimed: [],
  blockedRoutes: [],
  claimAgain: false,
  isCut: false,
  moreRoutes: undefined,
  lookAgainInMs: undefined,
};
