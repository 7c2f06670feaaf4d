import type { Bell } from '../coordination/bell.js';
import { ringFor } from '../coordination/ring.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import { blamesRow } from '../storage/error-kind.js';
import { byHalves } from '../storage/by-halves.js';
import { occurrenceOf } from '../storage/schedule-occurrence.js';
import type { DueSchedule, ScheduleMove, ScheduleRecord } from '../storage/schedules.js';
import { Alarm } from '../timing/signal.js';
import { Backoff } from '../timing/backoff.js';
import { dueTimes, graceMs, recurrence, timeAfterSetBack } from '../timing/recurrence.js';
import { failureMessage } from '../values/failure-text.js';

export interface RecurringTasksParts {
  readonly database: Pick<QueueDatabase, 'schedules' | 'classify'>;
  readonly bell: Pick<Bell, 'ring' | 'canListen'>;
  readonly events: QueueEvents;
  /** Ids of schedules that the code of this process declares. */
  readonly declared: () => readonly string[];
  readonly options: { readonly pollIntervalMs: number };
  /** Between 0 and 1; given in tests. */
  readonly random?: () => number;
}

/** Moved by one statement. */
const page = 500;
/** A ring that tells of changes may be lost. */
const longestWaitMs = 300_000;
/** While another worker moves what is due, and before what the database refuses is tried again. */
const [othersTurnMs, refusedMs] = [200, 10_000];

/**
 * Inserts the tasks of schedules when their times have come. Every worker looks at the earliest of these times, by the database's
 * clock; of those that find it, the first that moves the schedule inserts its tasks by the same statement, and the others find it
 * moved.
 */
export class RecurringTasks {
  readonly #parts: RecurringTasksParts;
  readonly #random: () => number;
  readonly #alarm = new Alarm(() => this.look());
  readonly #backoff = new Backoff({ firstMs: 500, mostMs: 10_000 });
  /** Schedules said to be refused, until they are not any more. */
  readonly #told = new Set<string>();
  #started = false;
  #looking: Promise<void> | undefined;
  /** True when something may have changed since the look under way began. */
  #again = false;
  #hasFailed = false;
  /** The database's clock without this process's at the look before, in ms. Before the first one it may have been set back by any time. */
  #offsetMs = Infinity;

  constructor(parts: RecurringTasksParts) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
  }

  start(): void {
    this.#started = true;
    this.look();
  }

  /** Waits for a look under way. */
  async stop(): Promise<void> {
    this.#started = false;
    this.#alarm.clear();
    await this.#looking;
  }

  /** Looks now: a time has come, or schedules were changed. */
  look(): void {
    if (!this.#started) return;
    this.#again = true;
    this.#looking ??= this.#lookOnce().finally(() => (this.#looking = undefined));
  }

  async #lookOnce(): Promise<void> {
    while (this.#again && this.#started) {
      this.#again = false;
      try {
        this.#alarm.setEarlier(Math.min(await this.#advance(), this.#longestWaitMs));
        this.#backoff.reset();
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) this.#parts.events.emit('routine.failed', { routine: 'schedules', error });
        this.#hasFailed = true;
        this.#alarm.setEarlier(this.#backoff.next());
      }
    }
    if (!this.#started) this.#alarm.clear();
  }

  /** Moves all that is due; returns in how many ms to look again. */
  async #advance(): Promise<number> {
    const { database, declared } = this.#parts;
    while (this.#started) {
      const { due, unreadable, nowMs, nextInMs = Infinity } = await database.schedules.due(declared(), page);
      for (const { id, error } of unreadable) this.#tellRefused(id, error);
      if (nextInMs < Infinity && (await this.#bringBack(nowMs))) continue;
      if (due.length === 0) return nextInMs;
      const { moved, refused } = await this.#move(due, nowMs);
      if (moved === 0) return Math.min(nextInMs, refused > 0 ? refusedMs : othersTurnMs);
    }
    return Infinity;
  }

  /**
   * A time that was planned by a clock that was set back since may lie hours ahead, of what recurs every second. Looked for at the
   * first look, and when the clock is seen to go back; returns whether there is something that is to go on earlier.
   */
  async #bringBack(nowMs: number): Promise<boolean> {
    const { database, declared, events } = this.#parts;
    const offsetMs = nowMs - performance.now();
    let broughtBack = 0;
    if (offsetMs < this.#offsetMs - graceMs) {
      const ids = new Set(declared());
      const all = await database.schedules.list().catch((error: unknown) => {
        // A row that somebody else wrote: it is told when it is due.
        if (error instanceof TarefaError) return [];
        throw error;
      });
      const moves = all
        .filter(({ id, declared: isOfCode }) => !isOfCode || ids.has(id))
        .flatMap((one) => broughtBackBy(one, nowMs));
      for (let first = 0; first < moves.length; first += page) {
        broughtBack += (await database.schedules.move(moves.slice(first, first + page))).length;
      }
    }
    this.#offsetMs = offsetMs;
    if (broughtBack === 0) return false;
    events.emit('notice', {
      message:
        `the database's clock was set back after the next times of ${broughtBack} schedule(s) had been written: they go on by the ` +
        `clock as it is now`,
    });
    return true;
  }

  /** Returns how many were moved here, and how many the database refused. */
  async #move(
    due: readonly DueSchedule[],
    nowMs: number,
  ): Promise<{ readonly moved: number; readonly refused: number }> {
    const { database } = this.#parts;
    const moves = this.#movesOf(due, nowMs);
    let moved = 0;
    const sentAt = performance.now();
    const { refused } = await byHalves(
      [...moves.values()],
      async (some) => {
        for (const id of await database.schedules.move(some)) {
          moved += 1;
          this.#hasMoved(moves.get(id), sentAt);
        }
      },
      (error) => blamesRow(database.classify(error)),
    );
    for (const { one, error } of refused) this.#tellRefused(one.id, error);
    return { moved, refused: refused.length + due.length - moves.size };
  }

  /** Those of which this version knows when they recur. */
  #movesOf(due: readonly DueSchedule[], nowMs: number): ReadonlyMap<string, ScheduleMove> {
    const moves = new Map<string, ScheduleMove>();
    for (const one of due) {
      try {
        moves.set(one.id, this.#moveOf(one, nowMs));
      } catch (error) {
        this.#tellRefused(one.id, error);
      }
    }
    return moves;
  }

  #moveOf({ dueMs, ...schedule }: DueSchedule, nowMs: number): ScheduleMove {
    const { rule } = schedule;
    const { taken, left, next } = dueTimes(recurrence(rule), rule.missed, dueMs, nowMs);
    // The first one is still to end when the others come.
    const made = rule.overlap === 'skip' ? taken.slice(0, 1) : taken;
    const tasks = made.map((atMs) =>
      occurrenceOf(schedule, {
        atMs,
        dueAt: this.#dueAt(atMs + rule.jitter * this.#random(), nowMs),
        onConflict: 'return',
      }),
    );
    const missed = left + taken.length - made.length;
    return { id: schedule.id, revision: schedule.revision, nextMs: next, missed, tasks, lastMs: made.at(-1) };
  }

  #hasMoved(move: ScheduleMove | undefined, sentAt: number): void {
    if (!move) return;
    const { id, tasks, missed } = move;
    const { bell, events } = this.#parts;
    this.#told.delete(id);
    if (tasks.length > 0) void bell.ring('tasks', ringFor(tasks, sentAt));
    if (missed > 0) {
      events.emit('notice', {
        message: `the schedule '${id}' created no task at ${missed} of its times, which were missed`,
      });
    }
  }

  #dueAt(ms: number, nowMs: number): Date | null {
    return ms > nowMs ? new Date(ms) : null;
  }

  /** It stays as it is and is tried again; others go on. */
  #tellRefused(id: string, error: unknown): void {
    if (this.#told.has(id)) return;
    this.#told.add(id);
    const message = `the task of the schedule '${id}' cannot be inserted and will be retried: ${failureMessage(error)}`;
    this.#parts.events.emit('warning', { message });
  }

  get #longestWaitMs(): number {
    const { bell, options } = this.#parts;
    if (bell.canListen || options.pollIntervalMs === 0) return longestWaitMs;
    return Math.min(longestWaitMs, options.pollIntervalMs);
  }
}

/** The move to the time at which it goes on, where the clock was set back since it was planned. */
function broughtBackBy(
  { id, revision, rule, nextAt, lastAt, pausedAt }: ScheduleRecord,
  nowMs: number,
): readonly ScheduleMove[] {
  if (!nextAt || pausedAt) return [];
  const lastMs = lastAt?.getTime();
  // Each of its times is to have one task, and those that the clock shows again have theirs.
  if (rule.missed === 'all' && lastMs !== undefined && lastMs > nowMs) return [];
  try {
    const nextMs = timeAfterSetBack(rule, nextAt.getTime(), lastMs, nowMs);
    return nextMs === undefined ? [] : [{ id, revision, nextMs, missed: 0, tasks: [], lastMs: undefined }];
  } catch {
    // A rule that this version does not know is told when it is due.
    return [];
  }
}
