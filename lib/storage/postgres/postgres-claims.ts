import { readBoolean } from '../columns.js';
import type { ClaimedTask, Completion, RouteDemand, WorkerId } from '../attempt.js';
import {
  onlySettled,
  type ClaimDemand,
  type Claims,
  type ClaimsOptions,
  type SettleAndClaimResult,
  type UnreadableAmong,
} from '../claims.js';
import type { RowsApart } from '../rows-apart.js';
import { readClaimedTask } from '../task-row.js';
import type { UnreadableTask } from '../unreadable-task.js';
import type { ClaimAnswer, ClaimRequest } from '../claiming/claim-request.js';
import { ClaimRounds } from '../claiming/claim-rounds.js';
import { peek } from './peek.js';
import { claimForm, claimValues, isDeadOnly, routesOf, settleValues } from './attempt-values.js';
import type { TextRow } from './connections/control-connection.js';
import type { TaskLocks } from './interop/task-locks.js';
import { classifyError } from './postgres-errors.js';
import type { QueueAccess } from './queue-access.js';
import { readAnswer, readIds } from './read-rows.js';
import { RefusedRows } from './refused-rows.js';
import type { Statement } from './statement.js';
import { UnreadableTasks } from './unreadable-tasks.js';

/**
 * With fewer slots two statements cost more than they gain: measured with a bare loop, 100 slots lose 4%, 250 gain 11%.
 */
const parallelFrom = 200;

/**
 * {@link Claims} by `for update skip locked`. Two calls at once take a connection each: the server works on one while this
 * process runs what the other has claimed.
 */
export class PostgresClaims implements Claims {
  readonly parallel: number;
  readonly #access: QueueAccess;
  readonly #workerId: WorkerId;
  readonly #locks: TaskLocks | undefined;
  readonly #apart: RowsApart;
  readonly #rounds: ClaimRounds;
  /** Calls under way on the first connection. */
  #onFirst = 0;
  /** True while another session has locked attempts that have ended here. */
  #meetsLocks = false;

  /**
   * @param apart attempts that claims leave out
   * @param locks only where workers of nsj-queue-lib serve the same table
   */
  constructor(
    access: QueueAccess,
    workerId: WorkerId,
    { apart, locks }: { readonly apart: RowsApart; readonly locks: TaskLocks | undefined },
    { concurrency, warn }: ClaimsOptions,
  ) {
    this.#access = access;
    this.#workerId = workerId;
    this.#locks = locks;
    this.#apart = apart;
    this.#rounds = new ClaimRounds({
      warn,
      sessions: 'pg_stat_activity.backend_xmin',
      wouldClaim: (routes) => this.wouldClaim(routes),
      findLeastId: () => this.#findLeastId(),
    });
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
    const apart = this.#apart.isAny ? this.#apart : undefined;
    const [until, ids] = [apart?.until, apart?.ids ?? []];
    const wanted = apart && demand ? apart.without(demand) : demand;
    let result: SettleAndClaimResult;
    if (wanted && wanted.routes.length > 0) {
      try {
        result = await this.#rounds.claim(
          wanted,
          (request) => this.#send(completions, request, ids),
          ids.length > 0,
        );
      } catch (error) {
        this.#locks?.invalidate();
        throw error;
      }
    } else {
      result = onlySettled(await this.#settle(completions));
    }
    return apart ? apart.announced(result, until) : result;
  }

  async #findLeastId(): Promise<bigint | undefined> {
    const [row] = await this.#access.ask(this.#access.sql.oldestUnfinished, []);
    const id = row?.['id'];
    return id == null ? undefined : BigInt(id);
  }

  heard(dueMs: number | 'lately', highestPriority: number): void {
    this.#rounds.cursor.moveBack(dueMs, highestPriority);
  }

  invalidate(): void {
    this.#rounds.cursor.reset();
  }

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    const { sql, identity } = this.#access;
    const values = [this.#workerId, limit, this.#apart.ids, this.#locks !== undefined];
    const rows = await this.#access.ask(sql.claimUnattended, values).catch((error: unknown) => {
      this.#locks?.invalidate();
      throw error;
    });
    const claimed = rows.map((row) => readClaimedTask(row, identity));
    this.#locks?.learn(this.#workerId, claimed, []);
    return claimed;
  }

  async wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    const values = [routes.map(({ route }) => route), routes.map(isDeadOnly), this.#apart.ids];
    const [row] = await this.#access.ask(this.#access.sql.wouldClaim, values);
    return readBoolean(row?.['found']);
  }

  endUnreadable(among: UnreadableAmong): Promise<readonly UnreadableTask[]> {
    const unreadable = new UnreadableTasks(this.#access, this.#apart);
    return unreadable.end(this.#workerId, among, this.#leftOut(this.#apart.ids));
  }

  async setApart(among: Exclude<UnreadableAmong, 'every route'>): Promise<boolean> {
    const ids = await peek(this.#access, this.#workerId, among, this.#leftOut(this.#apart.ids));
    return new RefusedRows(this.#access, this.#apart).setClaimedApart(ids, this.#workerId);
  }

  /** What claims leave out. */
  #leftOut(apart: readonly string[]): readonly string[] {
    return this.#locks ? [...this.#locks.leftOut, ...apart] : apart;
  }

  /**
   * One statement for both, unless completions go better alone. Beside a claim on the other connection they do: the snapshot of
   * a statement that completes first is old when it claims, and what was claimed meanwhile is looked up, locked and left again,
   * while the other one waits to complete it (a fifth of the time). And where completions wait for what another session has
   * locked, they go without that.
   */
  async #send(
    completions: readonly Completion[],
    request: ClaimRequest,
    apart: readonly string[],
  ): Promise<ClaimAnswer> {
    const together = completions.length === 0 || (this.parallel === 1 && !this.#meetsLocks);
    if (together) {
      try {
        return await this.#claim(completions, request, apart);
      } catch (error) {
        if (completions.length === 0 || classifyError(error) !== 'locked') throw error;
      }
    }
    const settledOnly = await this.#settle(completions);
    this.#meetsLocks = settledOnly !== undefined;
    return { ...(await this.#claim([], request, apart)), settledOnly };
  }

  async #settle(completions: readonly Completion[]): Promise<readonly string[] | undefined> {
    const [row] = await this.#ask(
      this.#access.sql.settle,
      settleValues(this.#workerId, completions, this.#access.texts),
    );
    return readIds(row?.['settled_only']);
  }

  async #claim(
    completions: readonly Completion[],
    request: ClaimRequest,
    apart: readonly string[],
  ): Promise<ClaimAnswer> {
    const { sql, identity } = this.#access;
    const locks = this.#locks;
    const values = [
      ...settleValues(this.#workerId, completions, this.#access.texts),
      ...claimValues(request, this.#leftOut(apart), locks !== undefined),
    ];
    const rows = await this.#ask(sql.settleAndClaim(claimForm(request)), values);
    const answer = readAnswer(rows, routesOf(request.stretches), identity);
    if (!locks) return answer;
    locks.learn(this.#workerId, answer.claimed, answer.refused);
    // It has not seen what it was told to leave out.
    return { ...answer, moreRoutes: undefined };
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
