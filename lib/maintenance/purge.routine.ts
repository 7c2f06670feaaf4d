import { setTimeout as pause } from 'node:timers/promises';
import type { Liveness } from '../coordination/liveness.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import { KeptTasks } from '../storage/kept-tasks.js';
import { purgeBlock, type PurgedBlock } from '../storage/purge-blocks.js';
import type { PurgeableWindow } from '../storage/upkeep.js';
import { findWithin, mostWindowRows } from '../storage/purge-windows.js';

export interface PurgeRules {
  /** Tasks whose attempts were all due longer ago are deleted. */
  readonly maxAgeDays: number;
  /** Rows deleted by one statement. */
  readonly limit: number;
  /** Statements of one round. */
  readonly roundLimit: number;
}

/** A statement that takes longer is followed by one with fewer rows. */
const blockMs = 150;
const leastBlockRows = 50;
/** Statements by which each half of a refused block is divided: tasks that may not be deleted must not cost more than others do. */
const mostTries = 64;

/**
 * Deletes old history at its minutes: whole tasks that are over, with all their attempts and dead chains, in blocks;
 * before that whole partitions, where the queue has some. What still runs, waits, or holds the payload of something that
 * does is never touched, however old.
 *
 * It walks by id and remembers where it is, also from one round to the next: what was deleted stays in the index until
 * vacuum has been there, and would be walked over again from the left by every block. When it has come to rows that are
 * all too young, the next round begins at the first that it had to leave.
 *
 * A task that the database refuses to delete stays, and a warning says why; the walk goes on behind it. What takes too long is
 * done in smaller parts.
 */
export class PurgeRoutine {
  readonly #database: QueueDatabase;
  readonly #liveness: Pick<Liveness, 'exclusively'>;
  readonly #events: QueueEvents;
  readonly #rules: PurgeRules;
  /** Rows up to this id were seen in this walk. */
  #after: string | undefined;
  /** Where the next walk begins: before the first row that this one had to leave. */
  #back: { readonly after: string | undefined } | undefined;
  #blockRows: number;
  /** Fewer are not asked for, however long a block takes. */
  #leastBlockRows = leastBlockRows;
  #windowRows: number;
  /** Tasks that have to stay though they are old. */
  readonly #kept = new KeptTasks();
  #cut = new AbortController();

  /** @hidden */
  constructor(
    database: QueueDatabase,
    { liveness, events }: { readonly liveness: Pick<Liveness, 'exclusively'>; readonly events: QueueEvents },
    rules: PurgeRules,
  ) {
    this.#database = database;
    this.#liveness = liveness;
    this.#events = events;
    this.#rules = rules;
    this.#blockRows = rules.limit;
    this.#windowRows = Math.max(rules.limit, mostWindowRows);
  }

  /** Runs one round; returns how many rows were deleted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#liveness.exclusively('purge', () => this.runNow());
  }

  /** Runs one round, also beside another worker that runs one: rows that it has locked are left to it. Returns how many were deleted. */
  async runNow(): Promise<number> {
    this.#cut = new AbortController();
    const { maxAgeDays } = this.#rules;
    const dropped = await this.#database.upkeep.purgeAtOnce(maxAgeDays);
    const deleted = await this.#walk(dropped.before, this.#cut.signal).finally(() => this.#tellKept());
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
      let isTooLarge = false;
      for (const block of window.blocks) {
        // Found again by the next round.
        if (blocksLeft === 0 || cut.aborted) return deleted;
        const ids = this.#kept.without(block);
        whole &&= ids.length === block.length;
        if (ids.length === 0) continue;
        const purged = await this.#paced(() => this.#delete(ids), cut);
        whole &&= purged.gone === ids.length;
        deleted += purged.gone;
        blocksLeft -= 1;
        ({ isTooLarge } = purged);
        if (isTooLarge) break;
      }
      // Looked at again, in smaller blocks.
      if (isTooLarge) continue;
      this.#pass(window, whole);
      if (!window.goesOn || cut.aborted) return deleted;
    }
    return deleted;
  }

  async #look(before: string | undefined): Promise<PurgeableWindow> {
    const { window, rows } = await findWithin(this.#database, {
      olderThanDays: this.#rules.maxAgeDays,
      after: this.#after,
      before,
      rows: this.#windowRows,
      blockRows: this.#blockRows,
    });
    this.#windowRows = rows;
    return window;
  }

  async #delete(ids: readonly string[]): Promise<PurgedBlock> {
    const began = performance.now();
    const purged = await purgeBlock(this.#database, ids, mostTries);
    this.#kept.add(purged.kept);
    if (purged.isTooLarge) {
      this.#blockRows = Math.max(1, Math.floor(Math.min(this.#blockRows, ids.length) / 2));
      this.#leastBlockRows = Math.min(this.#leastBlockRows, this.#blockRows);
      return purged;
    }
    const rows = (this.#blockRows * blockMs) / (performance.now() - began);
    this.#blockRows = Math.round(Math.min(this.#rules.limit, Math.max(this.#leastBlockRows, rows)));
    return purged;
  }

  #tellKept(): void {
    for (const message of this.#kept.takeReasons()) this.#events.emit('warning', { message });
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
