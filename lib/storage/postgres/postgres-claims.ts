import { readBoolean } from '../columns.js';
import type { ClaimedTask, Completion, WorkerId } from '../attempt.js';
import type { ClaimRequest, Claims, Lane, SettleAndClaimResult } from '../claims.js';
import type { UnreadableAmong, UnreadableTask } from '../unreadable-task.js';
import { claimForm, claimValues, settleValues } from './claim-values.js';
import type { TaskLocks } from './interop/task-locks.js';
import type { QueueAccess } from './queue-access.js';
import { readClaimed, readIds, readSettled } from './read-rows.js';
import { UnreadableTasks } from './unreadable-tasks.js';

/** {@link Claims} by `for update skip locked`. */
export class PostgresClaims implements Claims {
  readonly #access: QueueAccess;
  readonly #locks: TaskLocks | undefined;

  /** @param locks only where workers of nsj-queue-lib serve the same table */
  constructor(access: QueueAccess, locks: TaskLocks | undefined) {
    this.#access = access;
    this.#locks = locks;
  }

  async settleAndClaim(
    workerId: WorkerId,
    completions: readonly Completion[],
    request?: ClaimRequest,
    lane: Lane = 'first',
  ): Promise<SettleAndClaimResult> {
    const { sql, texts, identity } = this.#access;
    const settling = settleValues(
      workerId,
      completions.map((completion) => texts.completion(completion)),
    );
    if (!request) return readSettled(await this.#access.ask(sql.settle, settling, lane), [], identity);
    const locks = this.#locks;
    const statement = sql.settleAndClaim(claimForm(request, locks !== undefined));
    const values = [...settling, ...claimValues(request), ...(locks ? [locks.leftOut] : [])];
    const rows = await this.#access.ask(statement, values, lane).catch((error: unknown) => {
      locks?.doubt();
      throw error;
    });
    const result = readSettled(rows, request.stretches, identity);
    locks?.learn(workerId, result.claimed, readIds(rows[0]?.['refused']) ?? []);
    return result;
  }

  async claimUnattended(workerId: WorkerId, limit: number): Promise<readonly ClaimedTask[]> {
    const { sql, identity } = this.#access;
    const locks = this.#locks;
    const statement = sql.claimUnattended(locks !== undefined);
    const rows = await this.#access.ask(statement, [workerId, limit]).catch((error: unknown) => {
      locks?.doubt();
      throw error;
    });
    const claimed = rows.map((row) => readClaimed(row, identity));
    locks?.learn(workerId, claimed, []);
    return claimed;
  }

  async wouldClaim({ stretches, dead }: ClaimRequest): Promise<boolean> {
    const routes = stretches.map(({ route }) => route);
    const values = [routes, routes.map((route) => dead?.(route) ?? null)];
    const [row] = await this.#access.ask(this.#access.sql.wouldClaim, values);
    return readBoolean(row?.['found']);
  }

  async endUnreadable(workerId: WorkerId, among: UnreadableAmong): Promise<readonly UnreadableTask[]> {
    const leftOut = this.#locks && [this.#locks.leftOut];
    return new UnreadableTasks(this.#access).end(workerId, among, leftOut);
  }

  laneOpening(lane: Lane): Promise<void> | undefined {
    return this.#access.control?.[lane].opening();
  }
}
