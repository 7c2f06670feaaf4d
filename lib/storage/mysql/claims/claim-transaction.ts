import type { ClaimedTask, Completion, Route, WorkerId } from '../../attempt.js';
import type { ClaimAnswer, ClaimRequest } from '../../claiming/claim-request.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { MysqlAccess } from '../mysql-access.js';
import { readClaimedTask } from '../../task-row.js';
import { claimClock, readLocked, take } from '../statements/claim.js';
import { lockBest, seeBest, type Arm } from '../statements/claim-arms.js';
import { lockEnded, settle } from '../statements/settle.js';
import type { LeftOut } from '../statements/apart.js';
import { lockDead } from '../statements/unattended.js';
import { armsAt, choose, count, readFound, shortRoutes, type Found } from './chosen.js';
import { askTogether, begin, commit, type Part } from './one-text.js';

/** What the first text has found. */
interface Begun {
  /** The completions that can be written. */
  readonly ended: readonly Completion[];
  readonly exhaustedAt: string | undefined;
  readonly locked: readonly Found[];
  /** Not locked yet. */
  readonly seen: readonly Found[];
}

/** One transaction's part of a worker. */
export interface ClaimTransactionParts {
  readonly names: Pick<MysqlAccess, 'tables' | 'identity'>;
  readonly workerId: WorkerId;
  readonly run: Run;
  readonly completions: readonly Completion[];
  /** Attempts that are not claimed. */
  readonly leftOut: readonly string[];
  /** Routes where work is likely. */
  readonly lively: ReadonlySet<Route>;
}

/** What one transaction does that completes attempts and claims others. */
export interface ClaimWork {
  /** Ids of the completions that were written; undefined when all were. */
  settle(): Promise<readonly string[] | undefined>;
  claim(request: ClaimRequest): Promise<ClaimAnswer>;
  /** Claims dead attempts that are pending still. */
  claimDead(ids: readonly string[]): Promise<readonly ClaimedTask[]>;
}

/**
 * The texts of one transaction that completes attempts and claims others: the first one locks them, the last one changes them.
 *
 * Where work is not likely it looks before it locks, with a text more where there is some. A walk that locks is ten times slower
 * over dead entries, and MariaDB's goes on through those that lie behind the end of a stretch: 30,000 of them take 20 ms.
 */
export class ClaimTransaction implements ClaimWork {
  readonly #names: ClaimTransactionParts['names'];
  readonly #workerId: WorkerId;
  readonly #run: Run;
  readonly #completions: readonly Completion[];
  readonly #leftOut: LeftOut;
  readonly #lively: ReadonlySet<Route>;

  constructor({ names, workerId, run, completions, leftOut, lively }: ClaimTransactionParts) {
    this.#names = names;
    this.#workerId = workerId;
    this.#run = run;
    this.#completions = completions;
    this.#leftOut = { ids: leftOut };
    this.#lively = lively;
  }

  /** Ids of the completions that were written; undefined when all were. */
  async settle(): Promise<readonly string[] | undefined> {
    if (this.#completions.length === 0) return undefined;
    const { ended } = await askTogether(this.#run, { begin, ended: this.#lockEnded() });
    return (await this.#end(this.#heldOf(ended?.rows), [])).settledOnly;
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    if (request.shape === 'counted') return this.#counted(request);
    const { stretches, total } = request;
    const arms = armsOf(request, total);
    const lively = arms.filter((arm) => this.#isLikely(arm));
    const others = arms.filter((arm) => !lively.includes(arm));
    const { ended, exhaustedAt, locked, seen } = await this.#begin(lively, others);
    const wanted = choose(request, [...locked, ...seen]).filter((one) => !locked.includes(one));
    const got = await this.#lock(armsAt(request, wanted));
    // Somebody has locked some of the best: what is behind them, and in other routes, was not looked at.
    const found = [...locked, ...(got.length < wanted.length ? await this.#lock(others) : got)];
    const chosen = choose(request, found);
    const routes = new Set(found.map(({ place }) => stretches[place]?.route));
    return {
      ...nothingElse,
      ...(await this.#end(ended, idsOf(chosen))),
      contended: request.shape === 'single' && routes.size > 1,
      exhaustedAt: chosen.length < total ? exhaustedAt : undefined,
    };
  }

  /** Claims dead attempts that are pending still. */
  async claimDead(ids: readonly string[]): Promise<readonly ClaimedTask[]> {
    const { tables } = this.#names;
    const { locked } = await askTogether(this.#run, {
      begin,
      locked: { text: lockDead(tables), values: [JSON.stringify(ids)] },
    });
    return (await this.#end([], idsOf(locked?.rows))).claimed;
  }

  /** So it locks nothing needlessly. */
  async #counted(request: ClaimRequest): Promise<ClaimAnswer> {
    const looked = armsOf(request, request.depth);
    const { ended, exhaustedAt, seen } = await this.#begin([], looked);
    const { wanted, isCut, moreRoutes } = count(request, looked, seen);
    const got = await this.#lock(armsAt(request, wanted));
    const isAll = !isCut && got.length === wanted.length && got.length < request.total;
    return {
      ...nothingElse,
      ...(await this.#end(ended, idsOf(choose(request, got)))),
      lockedRoutes: shortRoutes(request, wanted, got),
      moreRoutes,
      isCut,
      exhaustedAt: isAll ? exhaustedAt : undefined,
    };
  }

  /** True where work is likely: in a stretch whose priority had some, or in a whole route. */
  #isLikely({ stretch: { route, bounds } }: Arm): boolean {
    return this.#lively.has(route) && (bounds === undefined || bounds.since !== undefined);
  }

  async #begin(locking: readonly Arm[], looking: readonly Arm[]): Promise<Begun> {
    const { tables } = this.#names;
    const { ended, clock, locked, seen } = await askTogether(this.#run, {
      begin,
      ended: this.#completions.length === 0 ? undefined : this.#lockEnded(),
      clock: { text: claimClock },
      locked: locking.length === 0 ? undefined : lockBest(tables, locking, this.#leftOut),
      seen: looking.length === 0 ? undefined : seeBest(tables, looking, this.#leftOut),
    });
    return {
      ended: this.#heldOf(ended?.rows),
      exhaustedAt: clock?.rows[0]?.['exhausted_at'] ?? undefined,
      locked: (locked?.rows ?? []).map(readFound),
      seen: (seen?.rows ?? []).map(readFound),
    };
  }

  async #lock(arms: readonly Arm[]): Promise<readonly Found[]> {
    if (arms.length === 0) return [];
    const { locked } = await askTogether(this.#run, {
      locked: lockBest(this.#names.tables, arms, this.#leftOut),
    });
    return (locked?.rows ?? []).map(readFound);
  }

  /** Changes what the transaction has locked, and commits. */
  async #end(
    ended: readonly Completion[],
    claimedIds: readonly string[],
  ): Promise<Pick<ClaimAnswer, 'settledOnly' | 'claimed'>> {
    const { tables, identity } = this.#names;
    const ids = JSON.stringify(claimedIds);
    const claimsSome = claimedIds.length > 0;
    const { read } = await askTogether(this.#run, {
      settled: ended.length === 0 ? undefined : { text: settle(tables), values: [outcomesOf(ended)] },
      read: claimsSome ? { text: readLocked(tables), values: [ids] } : undefined,
      taken: claimsSome ? { text: take(tables), values: [ids, this.#workerId] } : undefined,
      commit,
    });
    return {
      settledOnly: ended.length === this.#completions.length ? undefined : idsOf(ended),
      claimed: (read?.rows ?? []).map((row) => readClaimedTask(row, identity)),
    };
  }

  #lockEnded(): Part {
    const claims = this.#completions.map(({ id, reservation }) => [id, reservation]);
    return { text: lockEnded(this.#names.tables), values: [JSON.stringify(claims), this.#workerId] };
  }

  #heldOf(rows: readonly TextRow[] = []): readonly Completion[] {
    return stillHeldOf(this.#completions, rows);
  }
}

export const nothingElse = {
  lockedRoutes: [],
  moreRoutes: undefined,
  contended: false,
  isCut: false,
  refused: [],
} as const;

/** More arms than that take longer to be understood than walks from the fronts do. */
const mostArms = 24;

/** Every stretch, each up to its limit; where they are many, every route from its front. */
export function armsOf({ stretches }: ClaimRequest, most: number): readonly Arm[] {
  const arms = stretches.map((stretch, place) => ({ place, stretch, limit: Math.min(stretch.limit, most) }));
  if (arms.length <= mostArms) return arms;
  const routes = new Set<Route>();
  return arms.flatMap((arm) => {
    const { route } = arm.stretch;
    if (routes.has(route)) return [];
    routes.add(route);
    return { ...arm, stretch: { ...arm.stretch, bounds: undefined } };
  });
}

/** Those of some completions whose claims are still held. */
export function stillHeldOf(
  completions: readonly Completion[],
  rows: readonly TextRow[] = [],
): readonly Completion[] {
  const held = new Set(rows.map((row) => `${row['id']} ${row['reserva']}`));
  return completions.filter(({ id, reservation }) => held.has(`${id} ${reservation}`));
}

/** The parameter of a settling. */
export function outcomesOf(ended: readonly Completion[]): string {
  return JSON.stringify(ended.map(({ id, message, result }) => [id, message, result]));
}

function idsOf(rows: readonly { readonly id?: string | null }[] = []): readonly string[] {
  return rows.map(({ id }) => String(id));
}
