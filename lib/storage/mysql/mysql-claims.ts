import type { ClaimedTask, Completion, Route, RouteDemand, WorkerId } from '../attempt.js';
import { ClaimRounds, onlySettled } from '../claiming/claim-rounds.js';
import type { ClaimDemand, Claims, ClaimsOptions, SettleAndClaimResult } from '../claims.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { ClaimTransaction } from './claims/claim-transaction.js';
import type { MysqlAccess } from './mysql-access.js';
import { seeBest } from './statements/claim-arms.js';
import { seeUnattended } from './statements/unattended.js';

/** {@link Claims} by `for update skip locked`, in transactions of two texts, or three. */
export class MysqlClaims implements Claims {
  readonly parallel = 1;
  readonly #access: MysqlAccess;
  readonly #workerId: WorkerId;
  readonly #rounds: ClaimRounds;
  /** Routes that gave something to the last claim. */
  #lively: ReadonlySet<Route> = new Set();

  constructor(access: MysqlAccess, workerId: WorkerId, { warn }: ClaimsOptions) {
    this.#access = access;
    this.#workerId = workerId;
    this.#rounds = new ClaimRounds({
      warn,
      sessions: 'information_schema.innodb_trx',
      wouldClaim: (routes) => this.wouldClaim(routes),
    });
  }

  openAnother(): undefined {
    return undefined;
  }

  async settleAndClaim(
    completions: readonly Completion[],
    demand?: ClaimDemand,
  ): Promise<SettleAndClaimResult> {
    if (!demand || demand.routes.length === 0) return onlySettled(await this.#settle(completions));
    return this.#rounds.claim(demand, async (request) => {
      const answer = await this.#inTransaction((transaction) => transaction.claim(request), completions);
      this.#lively = new Set(answer.claimed.map(({ route }) => route));
      return answer;
    });
  }

  heard(dueMs: number, highestPriority: number): void {
    this.#rounds.planner.cursor.moveBack(dueMs, highestPriority);
  }

  invalidate(): void {
    this.#rounds.planner.cursor.reset();
  }

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    const rows = await this.#access.ask(seeUnattended(this.#access.tables), [limit]);
    if (rows.length === 0) return [];
    return this.#inTransaction((transaction) => transaction.claimDead(rows.map(({ id }) => String(id))));
  }

  async wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    if (routes.length === 0) return false;
    const first = routes.map((stretch, place) => ({ place, stretch, limit: 1 }));
    const { text, values } = seeBest(this.#access.tables, first);
    return (await this.#access.ask(text, values)).length > 0;
  }

  /** All texts of these servers are text. */
  async endUnreadable(): Promise<readonly UnreadableTask[]> {
    return [];
  }

  #settle(completions: readonly Completion[]): Promise<readonly string[] | undefined> {
    return this.#inTransaction((transaction) => transaction.settle(), completions);
  }

  #inTransaction<T>(
    work: (transaction: ClaimTransaction) => Promise<T>,
    completions: readonly Completion[] = [],
  ): Promise<T> {
    return this.#access.transaction((run) =>
      work(
        new ClaimTransaction({
          names: this.#access,
          workerId: this.#workerId,
          run,
          completions,
          isLively: (route) => this.#lively.has(route),
        }),
      ),
    );
  }
}
