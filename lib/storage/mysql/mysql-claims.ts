import type { ClaimedTask, Completion, Route, RouteDemand, WorkerId } from '../attempt.js';
import type { ClaimAnswer, ClaimRequest } from '../claiming/claim-request.js';
import { ClaimRounds } from '../claiming/claim-rounds.js';
import {
  onlySettled,
  type ClaimDemand,
  type Claims,
  type ClaimsOptions,
  type SettleAndClaimResult,
  type UnreadableAmong,
} from '../claims.js';
import type { RowsApart } from '../rows-apart.js';
import type { UnreadableTask } from '../unreadable-task.js';
import { ClaimTransaction, type ClaimWork } from './claims/claim-transaction.js';
import { unattendedIds } from './claims/unattended-ids.js';
import type { ServerAccess } from './other-ways.js';
import { RefusedRows } from './refused-rows.js';
import { seeBest } from './statements/claim-arms.js';

/**
 * Dead entries stay in the index until a purge that falls behind while there is work, and on two busy processors a sweep over them
 * takes no longer than other claims: what it costs is not seen in its time.
 */
const leastSweepPauseMs = 200;

const nowhere: ReadonlySet<Route> = new Set();

/** {@link Claims} by `for update skip locked`, in transactions of two texts, or three. */
export class MysqlClaims implements Claims {
  readonly parallel = 1;
  readonly #access: ServerAccess;
  readonly #workerId: WorkerId;
  readonly #apart: RowsApart;
  readonly #rounds: ClaimRounds;
  /** Routes that gave something to the last claim that found something. */
  #lively = nowhere;
  /** True when these are likely to have more: the last claim found something, or something was heard since. */
  #isLikely = false;

  /** @param apart attempts that claims leave out */
  constructor(access: ServerAccess, workerId: WorkerId, apart: RowsApart, { warn }: ClaimsOptions) {
    this.#access = access;
    this.#workerId = workerId;
    this.#apart = apart;
    this.#rounds = new ClaimRounds({
      leastSweepPauseMs,
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
    if (!demand) return onlySettled(await this.#settle(completions));
    if (!this.#apart.isAny) return this.#claimBy(completions, demand, []);
    const { until, ids } = this.#apart;
    const wanted = this.#apart.without(demand);
    const result =
      wanted.routes.length > 0
        ? await this.#claimBy(completions, wanted, ids)
        : onlySettled(await this.#settle(completions));
    return this.#apart.announced(result, until);
  }

  /** @param apart attempts that are left out */
  #claimBy(
    completions: readonly Completion[],
    demand: ClaimDemand,
    apart: readonly string[],
  ): Promise<SettleAndClaimResult> {
    const send = async (request: ClaimRequest): Promise<ClaimAnswer> => {
      const lively = this.#isLikely ? this.#lively : nowhere;
      this.#isLikely = false;
      const claiming = (transaction: ClaimWork): Promise<ClaimAnswer> => transaction.claim(request);
      const answer = await this.#inTransaction(claiming, completions, apart, lively);
      if (answer.claimed.length > 0) {
        this.#lively = new Set(answer.claimed.map(({ route }) => route));
        this.#isLikely = true;
      }
      return answer;
    };
    return this.#rounds.claim(demand, send, apart.length > 0);
  }

  heard(dueMs: number | 'lately', highestPriority: number): void {
    this.#isLikely ||= !this.#rounds.cursor.sweepsRarely;
    this.#rounds.cursor.moveBack(dueMs, highestPriority);
  }

  invalidate(): void {
    this.#rounds.cursor.reset();
  }

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    const ids = await unattendedIds(this.#access, this.#apart, limit);
    if (ids.length === 0) return [];
    return this.#inTransaction((transaction) => transaction.claimDead(ids));
  }

  async wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    if (routes.length === 0) return false;
    const first = routes.map((stretch, place) => ({ place, stretch, limit: 1 }));
    const { text, values } = seeBest(this.#access.tables, first, this.#apart);
    return (await this.#access.ask(text, values)).length > 0;
  }

  /** All texts of these servers are text. */
  async endUnreadable(): Promise<readonly UnreadableTask[]> {
    return [];
  }

  setApart(among: Exclude<UnreadableAmong, 'every route'>): Promise<boolean> {
    return new RefusedRows(this.#access, this.#apart).setClaimedApart(among, this.#workerId);
  }

  #settle(completions: readonly Completion[]): Promise<readonly string[] | undefined> {
    return this.#inTransaction((transaction) => transaction.settle(), completions);
  }

  #inTransaction<T>(
    work: (transaction: ClaimWork) => Promise<T>,
    completions: readonly Completion[] = [],
    leftOut: readonly string[] = [],
    lively = nowhere,
  ): Promise<T> {
    const { prepared, ways } = this.#access;
    const { Claim = ClaimTransaction } = ways;
    let settlesAtOnce = prepared.server.flavour === 'mariadb';
    return this.#access.transaction((run) => {
      const parts = { names: this.#access, workerId: this.#workerId, run, completions, leftOut, lively };
      const claim = new Claim({ ...parts, settlesAtOnce });
      // What another session has locked is left out when this is tried again.
      settlesAtOnce = false;
      return work(claim);
    });
  }
}
