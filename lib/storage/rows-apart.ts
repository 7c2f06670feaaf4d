import { failureMessage } from '../values/failure-text.js';
import type { PromoteResult, Route } from './attempt.js';
import type { ClaimDemand, SettleAndClaimResult } from './claims.js';
import { describeRoute, plainRoute } from './route.js';

/** An attempt that the database does not let change. */
export interface RefusedRow {
  readonly id: string;
  /** Undefined where it cannot be read. */
  readonly route: Route | undefined;
  /** What the database says. */
  readonly error: unknown;
}

/** How long something is left out, and since how many times in a row. */
interface Apart {
  readonly until: number;
  readonly times: number;
}

/** Tried again after that long; each time that it is refused again it waits twice as long. */
const [firstMs, longestMs] = [1_000, 60_000];

/** More rows than that would make every claim slow: with them apart, the routes of others are set apart as a whole. */
const mostRows = 1_000;

/**
 * Attempts that cannot be changed because a constraint or a trigger of the user's refuses it. Nothing can be written into such a
 * row, so this process keeps it in mind: claims and promotions leave it out, and try it again now and then.
 */
export class RowsApart {
  readonly #warn: (message: string) => void;
  readonly #now: () => number;
  readonly #rows = new Map<string, Apart>();
  readonly #routes = new Map<Route, Apart>();
  /** False while nothing is apart: who claims asks for nothing else then. */
  isAny = false;
  /** What was said of the row that was set apart last for the first time, until something can be claimed. */
  #latest: string | undefined;

  /**
   * @param warn told of each row and route when it is set apart
   * @param now a clock in ms that never goes back
   */
  constructor(warn: (message: string) => void, now: () => number = () => performance.now()) {
    this.#warn = warn;
    this.#now = now;
  }

  /** Attempts to leave out now. */
  get ids(): readonly string[] {
    return this.#current(this.#rows);
  }

  /** Routes to leave out now. */
  get routes(): readonly Route[] {
    return this.#current(this.#routes);
  }

  /**
   * Why nothing may be claimed: what is apart, as long as no attempt was claimed since the last of it came. One row that is refused
   * says nothing of others, until there are others.
   */
  get refusal(): string | undefined {
    this.#forget();
    const parts = [counted(this.#rows.size, 'attempt'), counted(this.#routes.size, 'route')].flat();
    if (this.#latest === undefined || parts.length === 0) return undefined;
    return `the database refuses every change to the attempts it would claim (${parts.join(' and ')} skipped): ${this.#latest}`;
  }

  /** Attempts were claimed: what is apart stops nobody else. */
  claimed(): void {
    this.#latest = undefined;
  }

  /** A demand without routes that are left out. */
  without(demand: ClaimDemand): ClaimDemand {
    if (this.#routes.size === 0) return demand;
    const left = new Set(this.routes);
    return { ...demand, routes: demand.routes.filter(({ route }) => !left.has(route)) };
  }

  /**
   * What a claim answers, with the time when it may find more.
   *
   * @param until as it was before the claim was sent: a row whose time came meanwhile was left out anyway
   */
  announced(result: SettleAndClaimResult, until: number | undefined): SettleAndClaimResult {
    if (until === undefined) return result;
    return { ...result, lookAgainInMs: Math.min(this.#msUntil(until), result.lookAgainInMs ?? Infinity) };
  }

  /** What a promotion answers, likewise. */
  announcedDue(result: PromoteResult, until: number | undefined): PromoteResult {
    if (until === undefined) return result;
    return { ...result, nextDueInMs: Math.min(this.#msUntil(until), result.nextDueInMs ?? Infinity) };
  }

  /**
   * Does work that leaves out what is apart, until nothing stops it.
   *
   * @param setApart what an error is about; false when it is about something else
   */
  async around<T>(work: () => Promise<T>, setApart: (error: unknown) => Promise<boolean>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(await setApart(error))) throw error;
      }
    }
  }

  /** When the first that is left out now is to be tried again; undefined when nothing is left out. */
  get until(): number | undefined {
    const now = this.#now();
    let least: number | undefined;
    for (const { until } of [...this.#rows.values(), ...this.#routes.values()]) {
      if (until > now) least = Math.min(least ?? Infinity, until);
    }
    return least;
  }

  #msUntil(time: number): number {
    return Math.max(0, time - this.#now());
  }

  /** Sets rows apart; false when none could be. */
  add(refused: readonly RefusedRow[]): boolean {
    this.#forget();
    let isAny = false;
    let left = mostRows - this.ids.length;
    for (const row of refused) {
      if (left > 0) this.#setRow(row);
      else if (row.route === undefined) continue;
      else this.#setRoute(row, row.route);
      left -= 1;
      isAny = true;
    }
    return isAny;
  }

  /** Leaves attempts out for a moment that somebody else has locked, which says nothing of the rows. */
  leaveOut(ids: readonly string[]): void {
    for (const id of ids) {
      if (this.#rows.get(id)?.times) continue;
      this.#rows.set(id, { times: 0, until: this.#now() + firstMs });
      this.isAny = true;
    }
  }

  #setRow({ id, error }: RefusedRow): void {
    if (this.#set(this.#rows, id) > 1) return;
    this.#latest = failureMessage(error);
    this.#warn(
      `Attempt ${id} cannot be changed: ${this.#latest}. It is skipped and retried at least once a minute; ` +
        `other tasks run`,
    );
  }

  #setRoute({ id, error }: RefusedRow, route: Route): void {
    if (this.#set(this.#routes, route) > 1) return;
    this.#latest = failureMessage(error);
    this.#warn(
      `More than ${mostRows} attempts cannot be changed, such as ${id}: ${this.#latest}. All of its route ` +
        `(${describeRoute(plainRoute(route))}) are skipped and retried at least once a minute; others run`,
    );
  }

  /** Returns how many times in a row it was refused. */
  #set<Key>(apart: Map<Key, Apart>, key: Key): number {
    const times = (apart.get(key)?.times ?? 0) + 1;
    const ms = Math.min(longestMs, firstMs * 2 ** (times - 1));
    apart.set(key, { times, until: this.#now() + ms });
    this.isAny = true;
    return times;
  }

  #current<Key>(apart: ReadonlyMap<Key, Apart>): readonly Key[] {
    const now = this.#now();
    return [...apart].flatMap(([key, { until }]) => (until > now ? [key] : []));
  }

  /** What was not refused again for long can be changed by now, or is gone. */
  #forget(): void {
    const since = this.#now() - longestMs;
    for (const apart of [this.#rows, this.#routes] as readonly Map<string, Apart>[]) {
      for (const [key, { until }] of apart) if (until < since) apart.delete(key);
    }
    this.isAny = this.#rows.size + this.#routes.size > 0;
  }
}

/** In words; nothing when there are none. */
function counted(count: number, name: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${name}${count === 1 ? '' : 's'}`];
}
