import { setTimeout as pause } from 'node:timers/promises';
import type { Nemesis, World } from './nemesis/nemesis.js';
import type { Random } from './prng.js';

/** One fault of a run, as it is reported. */
export interface Strike {
  /** Seconds since the start. */
  readonly at: number;
  readonly kind: string;
  readonly tookMs: number;
  /** Undefined when it met nothing. */
  readonly hit: string | undefined;
  /** Why it could not be made. */
  readonly failed: string | undefined;
}

/** How long and how dense. */
export interface ScheduleRules {
  readonly minutes: number;
  readonly hits: number;
  readonly overlap: number;
}

/** Without the hits it needs a run goes on for so much longer, then it has failed. */
const patience = 2;
const leastPatienceMs = 90_000;

/**
 * Makes faults at random, several at once, until the time is over and every kind has hit often enough. A kind that
 * has hit less is chosen more often.
 */
export class Schedule {
  readonly strikes: Strike[] = [];
  readonly #kinds: readonly Nemesis[];
  readonly #rules: ScheduleRules;
  readonly #busy = new Set<string>();
  #stopped = false;

  constructor(kinds: readonly Nemesis[], rules: ScheduleRules) {
    this.#kinds = kinds;
    this.#rules = rules;
  }

  hits(kind: string): number {
    return this.strikes.filter((strike) => strike.kind === kind && strike.hit !== undefined).length;
  }

  /** Kinds that have not hit often enough. */
  get missing(): readonly string[] {
    return this.#kinds.filter((one) => this.#left(one) > 0).map(({ kind }) => kind);
  }

  /** Kinds of faults that are being made now. */
  get underWay(): readonly string[] {
    return [...this.#busy];
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(world: World, random: Random): Promise<void> {
    const started = performance.now();
    const leastMs = this.#rules.minutes * 60_000;
    const mostMs = Math.max(leastMs * patience, leastMs + leastPatienceMs);
    const isOver = (): boolean => {
      const elapsed = performance.now() - started;
      return this.#stopped || elapsed > mostMs || (elapsed > leastMs && this.missing.length === 0);
    };
    const lane = async (own: Random): Promise<void> => {
      while (!isOver()) {
        const nemesis = this.#choose(own);
        if (nemesis) await this.#strike(nemesis, world, own.fork(), started);
        await pause(own.whole(50, 500));
      }
    };
    await Promise.all(Array.from({ length: this.#rules.overlap }, () => lane(random.fork())));
  }

  #choose(random: Random): Nemesis | undefined {
    const free = this.#kinds.filter((one) => !this.#busy.has(groupOf(one)));
    const weights = free.map((one) => 0.3 * (one.share ?? 1) + this.#left(one));
    let at = random.next() * weights.reduce((sum, weight) => sum + weight, 0);
    return free.find((_, index) => (at -= weights[index] ?? 0) < 0);
  }

  /** Hits that it still needs. */
  #left({ kind, share = 1 }: Nemesis): number {
    return Math.max(0, Math.ceil(this.#rules.hits * share) - this.hits(kind));
  }

  async #strike(nemesis: Nemesis, world: World, random: Random, started: number): Promise<void> {
    const begun = performance.now();
    this.#busy.add(groupOf(nemesis));
    let failed: string | undefined;
    const hit = await nemesis.strike(world, random).catch((error: unknown) => {
      failed = String(error);
      return undefined;
    });
    this.#busy.delete(groupOf(nemesis));
    this.strikes.push({
      at: Number(((begun - started) / 1_000).toFixed(2)),
      kind: nemesis.kind,
      tookMs: Math.round(performance.now() - begun),
      hit,
      failed,
    });
  }
}

function groupOf({ group, kind }: Nemesis): string {
  return group ?? kind;
}
