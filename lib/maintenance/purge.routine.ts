import { setTimeout as pause } from 'node:timers/promises';
import type { Liveness } from '../coordination/liveness.js';
import type { QueueDatabase } from '../storage/database.js';
import type { PurgeableWindow } from '../storage/upkeep.js';

export interface PurgeRules {
  /** Tasks whose attempts were all due longer ago are deleted. */
  readonly maxAgeDays: number;
  /** Rows deleted by one statement. */
  readonly limit: number;
  /** Statements of one round. */
  readonly roundLimit: number;
}

/** Rows that are looked at by one statement, which takes some tens of milliseconds. */
const leastWindowRows = 10_000;
/** A statement that takes longer is followed by one with fewer rows. */
const blockMs = 150;
const leastBlockRows = 50;

/**
 * Deletes old history at its minutes: whole tasks that are over, with all their attempts and dead chains, in blocks;
 * before that whole partitions, where the queue has some. What still runs, waits, or holds the payload of something that
 * does is never touched, however old.
 *
 * It walks by id and remembers where it is, also from one round to the next: what was deleted stays in the index until
 * vacuum has been there, and would be walked over again from the left by every block. When it has come to rows that are
 * all too young, the next round begins at the first that it had to leave.
 */
export class PurgeRoutine {
  readonly #database: QueueDatabase;
  readonly #liveness: Pick<Liveness, 'exclusively'>;
  readonly #rules: PurgeRules;
  /** Rows up to this id were seen in this walk. */
  #after: string | undefined;
  /** Where the next walk begins: before the first row that this one had to leave. */
  #back: { readonly after: string | undefined } | undefined;
  #blockRows: number;
  #cut = new AbortController();

  /** @hidden */
  constructor(database: QueueDatabase, liveness: Pick<Liveness, 'exclusively'>, rules: PurgeRules) {
    this.#database = database;
    this.#liveness = liveness;
    this.#rules = rules;
    this.#blockRows = rules.limit;
  }

  /** Runs one round; answers how many rows were deleted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#liveness.exclusively('purge', () => this.runNow());
  }

  /** The same, also beside another worker that runs it: rows that one has locked are left to it. */
  async runNow(): Promise<number> {
    this.#cut = new AbortController();
    const { maxAgeDays } = this.#rules;
    const dropped = await this.#database.upkeep.purgeAtOnce(maxAgeDays);
    const deleted = await this.#walk(dropped.before, this.#cut.signal);
    await this.#database.workers.forget(maxAgeDays);
    if (dropped.problem) throw dropped.problem;
    return dropped.rows + deleted;
  }

  /** Ends a round under way after its statement; the next one goes on there. */
  cutShort(): void {
    this.#cut.abort();
  }

  async #walk(before: string | undefined, cut: AbortSignal): Promise<number> {
    let { roundLimit: blocksLeft } = this.#rules;
    let deleted = 0;
    for (let windows = 0; windows < this.#rules.roundLimit && blocksLeft > 0; windows += 1) {
      const window = await this.#paced(() => this.#look(before), cut);
      let whole = true;
      for (const block of window.blocks) {
        // Found again by the next round.
        if (blocksLeft === 0 || cut.aborted) return deleted;
        const gone = await this.#paced(() => this.#delete(block), cut);
        whole &&= gone === block.length;
        deleted += gone;
        blocksLeft -= 1;
      }
      this.#pass(window, whole);
      if (!window.goesOn || cut.aborted) return deleted;
    }
    return deleted;
  }

  #look(before: string | undefined): Promise<PurgeableWindow> {
    return this.#database.upkeep.findPurgeable({
      olderThanDays: this.#rules.maxAgeDays,
      after: this.#after,
      before,
      rows: Math.max(this.#rules.limit, leastWindowRows),
      blockRows: this.#blockRows,
    });
  }

  async #delete(block: readonly string[]): Promise<number> {
    const began = performance.now();
    const gone = await this.#database.upkeep.purge(block);
    const rows = (this.#blockRows * blockMs) / (performance.now() - began);
    this.#blockRows = Math.round(Math.min(this.#rules.limit, Math.max(leastBlockRows, rows)));
    return gone;
  }

  /** Goes on behind a window; or, at the end, back to the first row that stayed. */
  #pass({ last, keptFrom, goesOn }: PurgeableWindow, whole: boolean): void {
    if (!whole) this.#back ??= { after: this.#after };
    else if (keptFrom !== undefined) this.#back ??= { after: String(BigInt(keptFrom) - 1n) };
    this.#after = last ?? this.#after;
    if (goesOn) return;
    if (this.#back) this.#after = this.#back.after;
    this.#back = undefined;
  }

  /** Half of the time is the queue's: waits as long as the work took. */
  async #paced<T>(work: () => Promise<T>, cut: AbortSignal): Promise<T> {
    const began = performance.now();
    const answer = await work();
    await pause(performance.now() - began, undefined, { signal: cut, ref: false }).catch(() => undefined);
    return answer;
  }
}
