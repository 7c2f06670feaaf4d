// What wakes the loop of a worker: its timers, and what it hears of others.

import { Alarm } from '../timing/signal.js';
import { PollPace } from '../timing/poll-pace.js';
import type { HaltOrder } from './halt-order.js';
import type { Reconciler } from './reconciler.js';
import type { RunningTasks } from './running/running-tasks.js';
import type { Bell, BellTopic } from '../coordination/bell.js';
import type { EndAnnouncer } from '../coordination/end-announcer.js';
import type { Ring } from '../coordination/ring.js';
import type { QueueEvents } from '../events.js';
import type { RecurringTasks } from '../maintenance/recurring-tasks.js';
import type { Recovery } from '../maintenance/recovery.js';
import type { UnservedWatch } from '../maintenance/unserved-watch.js';
import { errorText } from '../observability/error-text.js';
import type { WorkerId } from '../storage/attempt.js';

/** What the loop of a worker may do; but for the first two, each mode only follows the one before. */
export type Mode =
  /** Claims, and records outcomes. */
  | 'claiming'
  /** Claims attempts that may have killed workers, one at a time and once nothing else runs; `claiming` before and after. */
  | 'alone'
  /** Claims nothing: what runs goes on, its outcomes are recorded, and what a claim under way still brings is given back. */
  | 'draining'
  /** Nothing runs any more: ends once the last outcomes are in the table. */
  | 'settling'
  /** Sends nothing more: what is left is recovery's. */
  | 'ended';

/** True while it claims something. */
export function isClaiming(mode: Mode): boolean {
  return mode === 'claiming' || mode === 'alone';
}

/** The loop that the timers of a worker wake. */
export interface Loop {
  readonly mode: Mode;
  /** Claims, because there may be something new. */
  wake(): void;
  /** Claims only what must run alone from now on, or everything again; a loop that stops does neither. */
  setAlone(isAlone: boolean): void;
  /** Looks at what is due, and for new routes. */
  look(): void;
  /** Compares table and memory, and looks. */
  compare(): void;
  /** Compares table and memory, when the table holds something unknown to the worker. */
  reconcile(): void;
}

/** The loop that is told what its worker hears. */
export interface HearingLoop {
  /** Returns whether the ring names a route that the worker serves: nobody has to look for who does. */
  heard(ring: Ring): boolean;
  /** Rings come, or do not although they should. */
  hears(isHearing: boolean): void;
}

export interface AgendaOptions {
  /** How often to look without being told; 0 never. */
  readonly pollIntervalMs: number;
  /** How often while something was found lately, where polls alone find what users' transactions insert. */
  readonly busyPollMs?: number | undefined;
}

/** After its last task a worker looks again, for commits whose ring came too early. */
const lookAgainMs = [50, 500] as const;
/** How often a worker looks at least that hears no rings, though it should. */
const unheardPollMs = 1_000;
/** What another session has locked is tried again after that many ms. */
const lockedAgainMs = 1_000;

/** The timers of a worker, for everything that no ring announces. None is set unless `start` was called. */
export class Agenda {
  readonly #loop: Loop;
  readonly #running: Pick<RunningTasks, 'size'>;
  readonly #reconciler: Pick<Reconciler, 'isSure' | 'nextDue'>;
  readonly #halt: Pick<HaltOrder, 'ask' | 'obey'>;
  readonly #pollIntervalMs: number;
  readonly #due: Alarm;
  readonly #claim: Alarm;
  #poll: NodeJS.Timeout | undefined;
  #polledAt = 0;
  #comparedAt = -Infinity;
  readonly #pace: PollPace | undefined;
  #lookAgain: readonly NodeJS.Timeout[] = [];
  #started = false;
  #pollMs: number;

  constructor(
    loop: Loop,
    running: Pick<RunningTasks, 'size'>,
    reconciler: Pick<Reconciler, 'isSure' | 'nextDue'>,
    halt: Pick<HaltOrder, 'ask' | 'obey'>,
    { pollIntervalMs: idleMs, busyPollMs: busyMs }: AgendaOptions,
  ) {
    this.#loop = loop;
    this.#running = running;
    this.#reconciler = reconciler;
    this.#halt = halt;
    this.#pollIntervalMs = idleMs;
    this.#due = new Alarm(() => loop.look());
    this.#claim = new Alarm(() => loop.wake());
    this.#pollMs = idleMs;
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
    const idleMs = this.#pollIntervalMs;
    this.#pollMs = isHearing ? idleMs : Math.min(idleMs || unheardPollMs, unheardPollMs);
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
      this.#lookAgain = lookAgainMs.map((delay) => setTimeout(() => this.#loop.wake(), delay));
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
    if (this.#running.size > 0 || !this.#reconciler.isSure) {
      // Of frequent polls only some compare.
      if (this.#pace && this.#polledAt - this.#comparedAt < this.#pollMs) return this.#loop.look();
      this.#comparedAt = this.#polledAt;
      this.#halt.ask();
      return this.#loop.compare();
    }
    // A comparison meets the same error of the database, and reports it.
    const next = await this.#reconciler.nextDue().catch(() => this.#loop.compare());
    if (next?.halted) return this.#halt.obey();
    if (next && next.halted === undefined) this.#halt.ask();
    if (next?.holding) return this.#loop.reconcile();
    if (next?.inMs === undefined) return;
    if (next.inMs > 0) this.lookIn(next.inMs);
    else this.#loop.compare();
  }

  #clearLookAgain(): void {
    for (const timer of this.#lookAgain) clearTimeout(timer);
  }
}

export interface ListeningParts {
  readonly bell: Bell;
  readonly ends: Pick<EndAnnouncer, 'expect'>;
  readonly recovery: Pick<Recovery, 'postpone'>;
  readonly unserved: Pick<UnservedWatch, 'expect'>;
  readonly recurring: Pick<RecurringTasks, 'look'>;
  readonly options: { readonly wake: 'listen' | 'kill' | 'poll' };
  readonly events: QueueEvents;
}

/** The worker that listens. */
export interface Listener {
  readonly id: WorkerId;
  readonly dispatcher: HearingLoop;
  readonly halt: Pick<HaltOrder, 'notified'>;
  /** True when another worker of this process tells that neither hears anything. */
  readonly isSilent: boolean;
}

/** What a worker hears of others. It works without that: where it is not let, it polls, and says so. */
export class Listening {
  readonly #parts: ListeningParts;
  readonly #refused = new Set<BellTopic>();
  #stops: (() => Promise<void>)[] = [];

  constructor(parts: ListeningParts) {
    this.#parts = parts;
  }

  /** Listens, where that is possible at all. */
  async start(listener: Listener): Promise<void> {
    const { bell, ends, recovery, options } = this.#parts;
    if (!bell.canListen) return;
    const changed =
      (topic: BellTopic) =>
      (refusal: unknown): void =>
        this.#changed(topic, refusal, listener);
    if (options.wake !== 'poll') {
      const heard = (ring: Ring): void => {
        if (ring.halt) return listener.halt.notified();
        const isServed = listener.dispatcher.heard(ring);
        if (ring.changed) this.#parts.recurring.look();
        if (!isServed) this.#parts.unserved.expect();
      };
      this.#stops.push(await bell.listen('tasks', heard, changed('tasks')));
    }
    this.#stops.push(
      await bell.listen('waits', (awaited) => ends.expect(awaited), changed('waits')),
      await bell.listen(
        'looks',
        (looker) => {
          if (looker !== listener.id) recovery.postpone(Number(looker) < Number(listener.id));
        },
        changed('looks'),
      ),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }

  #changed(topic: BellTopic, refusal: unknown, { dispatcher, isSilent }: Listener): void {
    const before = this.#refused.size;
    if (refusal === undefined) this.#refused.delete(topic);
    else this.#refused.add(topic);
    if (topic === 'tasks') {
      dispatcher.hears(refusal === undefined);
      // What was rung meanwhile was not heard.
      if (refusal === undefined) this.#parts.recurring.look();
    }
    const isNews = (before === 0) !== (this.#refused.size === 0);
    if (isNews && !isSilent) this.#tell(refusal);
  }

  #tell(refusal: unknown): void {
    const { events, options } = this.#parts;
    if (refusal === undefined) {
      events.emit('notice', { message: 'this worker can listen again' });
      return;
    }
    const polls =
      options.wake === 'poll'
        ? 'It polls, as configured'
        : `Until then it polls for tasks at least every ${unheardPollMs} ms`;
    events.emit('warning', {
      message: `this worker cannot listen and is retrying: ${errorText(refusal)}. ${polls}`,
    });
  }
}
