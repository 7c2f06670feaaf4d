import type { ClaimedTask, Completion, Route, WorkerId } from '../../attempt.js';
import type { ClaimAnswer, ClaimRequest } from '../../claiming/claim-request.js';
import type { Answer, TextRow } from '../connections/answers.js';
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
  /** The completions that are written, or that can be. */
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
  /** Whether completions are written by the first text: it fails where another session has locked one of their attempts. */
  readonly settlesAtOnce: boolean;
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
  #settlesAtOnce: boolean;
  readonly #leftOut: LeftOut;
  readonly #lively: ReadonlySet<Route>;

  constructor({ names, workerId, run, completions, settlesAtOnce, leftOut, lively }: ClaimTransactionParts) {
    this.#names = names;
    this.#workerId = workerId;
    this.#run = run;
    this.#completions = completions;
    this.#settlesAtOnce = settlesAtOnce;
    this.#leftOut = { ids: leftOut };
    this.#lively = lively;
  }

  /** Ids of the completions that were written; undefined when all were. */
  async settle(): Promise<readonly string[] | undefined> {
    if (this.#completions.length === 0) return undefined;
    const { ended } = await this.#open({});
    return (await this.#end(this.#heldOf(ended), [])).settledOnly;
  }

  async claim(request: ClaimRequest): Promise<ClaimAnswer> {
    if (request.shape === 'counted') return this.#counted(request);
    const { stretches, total } = request;
    const arms = armsOf(request, total);
    const lively = arms.filter((arm) => this.#isLikely(arm));
    const others = arms.filter((arm) => !lively.includes(arm));
    const { ended, exhaustedAt, locked, seen } = await this.#begin(lively, others, total);
    const wanted = choose(request, [...locked, ...seen]).filter((one) => !locked.includes(one));
    const got = await this.#lock(armsAt(request, wanted), total);
    // Somebody has locked some of the best: what is behind them, and in other routes, was not looked at.
    const found = [...locked, ...(got.length < wanted.length ? await this.#lock(others, total) : got)];
    const chosen = choose(request, found);
    const routes = new Set(found.map(({ place }) => stretches[place]?.route));
    return {
      ...nothingElse,
      ...(await this.#end(ended, chosen)),
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
    return (
      await this.#end(
        [],
        (locked?.rows ?? []).map(({ id }) => ({ id: String(id) })),
      )
    ).claimed;
  }

  /** So it locks nothing needlessly. */
  async #counted(request: ClaimRequest): Promise<ClaimAnswer> {
    const looked = armsOf(request, request.depth);
    const { ended, exhaustedAt, seen } = await this.#begin([], looked, 0);
    const { wanted, isCut, moreRoutes } = count(request, looked, seen);
    const got = await this.#lock(armsAt(request, wanted), request.total);
    const isAll = !isCut && got.length === wanted.length && got.length < request.total;
    return {
      ...nothingElse,
      ...(await this.#end(ended, choose(request, got))),
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

  async #begin(locking: readonly Arm[], looking: readonly Arm[], most: number): Promise<Begun> {
    const { tables } = this.#names;
    const { ended, clock, locked, seen } = await this.#open({
      clock: { text: claimClock },
      locked: locking.length === 0 ? undefined : this.#lockBest(locking, most),
      seen: looking.length === 0 ? undefined : seeBest(tables, looking, this.#leftOut),
    });
    return {
      ended: this.#heldOf(ended),
      exhaustedAt: clock?.rows[0]?.['exhausted_at'] ?? undefined,
      locked: (locked?.rows ?? []).map(readFound),
      seen: (seen?.rows ?? []).map(readFound),
    };
  }

  async #lock(arms: readonly Arm[], most: number): Promise<readonly Found[]> {
    if (arms.length === 0) return [];
    const { locked } = await askTogether(this.#run, { locked: this.#lockBest(arms, most) });
    return (locked?.rows ?? []).map(readFound);
  }

  /** Reads them as well, unless more may be locked than is claimed: they may have large payloads. */
  #lockBest(arms: readonly Arm[], most: number): Part {
    const locks = arms.reduce((sum, { limit }) => sum + limit, 0);
    return lockBest(this.#names.tables, arms, this.#leftOut, locks <= most);
  }

  /** Changes what the transaction has locked, and commits. */
  async #end(
    ended: readonly Completion[],
    chosen: readonly Pick<Found, 'id' | 'row'>[],
  ): Promise<Pick<ClaimAnswer, 'settledOnly' | 'claimed'>> {
    const { tables, identity } = this.#names;
    const unread = chosen.filter(({ row }) => row === undefined);
    const isSettled = this.#settlesAtOnce || ended.length === 0;
    const { read } = await askTogether(this.#run, {
      settled: isSettled ? undefined : settle(tables, ended, this.#workerId, false),
      read: unread.length === 0 ? undefined : { text: readLocked(tables), values: [idsJson(unread)] },
      taken:
        chosen.length === 0
          ? undefined
          : take(
              tables,
              chosen.map(({ id }) => id),
              this.#workerId,
            ),
      commit,
    });
    const rows = new Map(read?.rows.map((row) => [row['id'], row]));
    return {
      settledOnly: ended.length === this.#completions.length ? undefined : idsOf(ended),
      claimed: chosen.flatMap(({ id, row = rows.get(id) }) => (row ? readClaimedTask(row, identity) : [])),
    };
  }

  /**
   * The first text: completions and what else is to be asked. Where they are written at once and some claims do not hold any more, it
   * is undone and asked again with a lock, which tells those that do.
   */
  async #open<Name extends string>(
    others: Readonly<Record<Name, Part | undefined>>,
  ): Promise<Partial<Record<Name | 'begin' | 'ended', Answer>>> {
    const answers = await askTogether(this.#run, { begin, ended: this.#writeOrLock(), ...others });
    if (!this.#settlesAtOnce || (answers.ended?.changed ?? 0) === this.#completions.length) return answers;
    this.#settlesAtOnce = false;
    await this.#run('rollback');
    return this.#open(others);
  }

  #writeOrLock(): Part | undefined {
    const [{ tables }, completions] = [this.#names, this.#completions];
    if (completions.length === 0) return undefined;
    if (this.#settlesAtOnce) return settle(tables, completions, this.#workerId, true);
    return { text: lockEnded(tables), values: [claimsOf(completions), this.#workerId] };
  }

  #heldOf(ended: Answer | undefined): readonly Completion[] {
    return this.#settlesAtOnce ? this.#completions : stillHeldOf(this.#completions, ended?.rows);
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

/** A parameter of what locks completions, and of what asks for them. */
export function claimsOf(completions: readonly Completion[]): string {
  return JSON.stringify(completions.map(({ id, reservation }) => [id, reservation]));
}

function idsJson(some: readonly { readonly id: string }[]): string {
  return JSON.stringify(some.map(({ id }) => id));
}

function idsOf(rows: readonly { readonly id?: string | null }[] = []): readonly string[] {
  return rows.map(({ id }) => String(id));
}
