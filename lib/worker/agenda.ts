import { Alarm } from '../timing/signal.js';
import { PollPace } from '../timing/poll-pace.js';
import type { HaltOrder } from './halt-order.js';
import type { Reconciler } from './reconciler.js';
import type { RunningTasks } from './running/running-tasks.js';

/** The loop that the timers of a worker wake. */
export interface Loop {
  /** Claims, because there may be something new. */
  wake(): void;
  /** Looks at what is due, and for new routes. */
  look(): void;
  /** Compares table and memory, and looks. */
  compare(): void;
  /** Compares table and memory, when the table holds something unknown to the worker. */
  reconcile(): void;
}

export interface AgendaParts {
  readonly loop: Loop;
  readonly running: Pick<RunningTasks, 'size'>;
  readonly reconciler: Pick<Reconciler, 'isSure' | 'nextDue'>;
  readonly halt: Pick<HaltOrder, 'ask' | 'obey'>;
  readonly options: {
    /** How often to look without being told; 0 never. */
    readonly pollIntervalMs: number;
    /** How often while something was found lately, where polls alone find what users' transactions insert. */
    readonly busyPollMs?: number | undefined;
  };
}

/** After its last task a worker looks again, for commits whose ring came too early. */
const lookAgainMs = [50, 500] as const;
/** How often a worker looks at least that hears no rings, though it should. */
export const unheardPollMs = 1_000;
/** What another session has locked is tried again after that many ms. */
const lockedAgainMs = 1_000;

/** The timers of a worker, for everything that no ring announces. None is set unless `start` was called. */
export class Agenda {
  readonly #parts: AgendaParts;
  readonly #due: Alarm;
  readonly #claim: Alarm;
  #poll: NodeJS.Timeout | undefined;
  #polledAt = 0;
  #comparedAt = -Infinity;
  readonly #pace: PollPace | undefined;
  #lookAgain: readonly NodeJS.Timeout[] = [];
  #started = false;
  #pollMs: number;

  constructor(parts: AgendaParts) {
    this.#parts = parts;
    const { loop, options } = parts;
    this.#due = new Alarm(() => loop.look());
    this.#claim = new Alarm(() => loop.wake());
    this.#pollMs = options.pollIntervalMs;
    const { busyPollMs: busyMs, pollIntervalMs: idleMs } = options;
    // Who never polls does so while it hears nothing, at the pace of that.
    this.#pace = busyMs === undefined || idleMs === 0 ? undefined : new PollPace({ busyMs, idleMs });
  }

  start(): void {
    this.#started = true;
    this.#polledAt = performance.now();
    if (this.#pollMs > 0) this.#pollLater();
  }

  /** While rings do not come, polls have to come more often. */
  hears(isHearing: boolean): void {
    const { pollIntervalMs } = this.#parts.options;
    this.#pollMs = isHearing ? pollIntervalMs : Math.min(pollIntervalMs || unheardPollMs, unheardPollMs);
    clearTimeout(this.#poll);
    this.#poll = undefined;
    if (this.#started) this.start();
  }

  stop(): void {
    this.#started = false;
    clearTimeout(this.#poll);
    this.#due.clear();
    this.#claim.clear();
    this.#clearLookAgain();
  }

  /** True when a poll is overdue: the process stood still, or its event loop was blocked, and the timer comes later. */
  get pollMissed(): boolean {
    return this.#poll !== undefined && performance.now() - this.#polledAt > this.#pollMs;
  }

  /** A scheduled attempt is due then; if that is past, it should have been promoted already, and another session has it locked. */
  lookIn(ms: number): void {
    if (this.#started) this.#due.setEarlier(ms > 0 ? ms : lockedAgainMs);
  }

  /** A claim may find then what the last one could not take or see. */
  claimIn(ms: number): void {
    if (this.#started) this.#claim.setEarlier(ms);
  }

  /** No ring announces that a lock was released. */
  retryLocked(): void {
    this.claimIn(lockedAgainMs);
  }

  /** A route that had tasks may get more. */
  expectMore(): void {
    this.#pace?.found();
    this.#clearLookAgain();
    if (this.#started)
      this.#lookAgain = lookAgainMs.map((delay) => setTimeout(() => this.#parts.loop.wake(), delay));
  }

  #pollLater(): void {
    const ms = Math.min(this.#pace?.next() ?? this.#pollMs, this.#pollMs);
    this.#poll = setTimeout(() => {
      this.#pollLater();
      void this.#onPoll();
    }, ms);
  }

  /** An idle worker asks by one statement whether there is anything to do; a full look takes several. */
  async #onPoll(): Promise<void> {
    this.#polledAt = performance.now();
    const { loop, running, reconciler, halt } = this.#parts;
    if (running.size > 0 || !reconciler.isSure) {
      // Of frequent polls only some compare.
      if (this.#pace && this.#polledAt - this.#comparedAt < this.#pollMs) return loop.look();
      this.#comparedAt = this.#polledAt;
      halt.ask();
      return loop.compare();
    }
    // A comparison meets the same error of the database, and reports it.
    const next = await reconciler.nextDue().catch(() => loop.compare());
    if (next?.halted) return halt.obey();
    if (next && next.halted === undefined) halt.ask();
    if (next?.holding) return loop.reconcile();
    if (next?.inMs === undefined) return;
    if (next.inMs > 0) this.lookIn(next.inMs);
    else loop.compare();
  }

  #clearLookAgain(): void {
    for (const timer of this.#lookAgain) clearTimeout(timer);
  }
}
