import { setTimeout as delay } from 'node:timers/promises';
import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import { WalkPace } from '../timing/walk-pace.js';
import { TarefaError } from '../errors.js';
import { reference, type QueueEvents } from '../events.js';
import type { Failure, FailureOutcome, HeldTask, WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { verdict } from '../storage/failure-rule.js';
import { writeFailures } from '../storage/write-failures.js';
import { failureDetail, failureMessage } from '../values/failure-text.js';
import { handlerOf, type HandlerRegistry, attemptsOf } from '../subscribers/handler-registry.js';
import type { RecoveryOptions, WorkerOptions } from '../options/worker-options.js';
import { ClockWatch } from './clock-watch.js';
import { NotifyWatch } from './notify-watch.js';
import type { ForeignLockWatch } from './foreign-lock-watch.js';
import type { TableWatch } from './table-watch.js';

export interface RecoveryParts {
  readonly database: QueueDatabase;
  readonly bell: Pick<Bell, 'canListen' | 'carried' | 'ring'>;
  readonly liveness: Pick<Liveness, 'findMissing'>;
  readonly registry: HandlerRegistry;
  readonly options: WorkerOptions;
  /** How sure one must be, also when the interval is switched off. */
  readonly timing: RecoveryOptions;
  readonly events: QueueEvents;
  readonly foreignLocks: ForeignLockWatch;
  readonly table: Pick<TableWatch, 'start' | 'stop' | 'checkSoon'>;
}

const page = 500;

/** Attempts said to be refused are remembered up to this number. */
const mostTold = 1_000;

/** A worker that hears of a look waits longer than the looker will, by this part of the interval, and by chance as much again. */
const patience = 0.1;

/**
 * Looks between two walks for attempts of unregistered holders: rows changed by hand, or of a worker whose row was deleted.
 */
const looksPerWalk = 12;

/** Intervals after a look in which no other one is needed. */
const lookCounts = 2;

/**
 * Fails the attempts of workers that are gone, so that their next ones start at once. A worker counts as gone when two
 * looks, some time apart, miss its lock. One worker of the fleet looks, every few seconds: those that hear of its looks
 * wait, and one takes its place when it falls silent. Should two look at once, they only do the same twice.
 */
export class Recovery {
  readonly #parts: RecoveryParts;
  /** Workers that the last look missed and an earlier one had not, or not for long enough. */
  #unconfirmed = 0;
  /** Found by the last walk, and not recovered since. */
  #unregistered: readonly WorkerId[] = [];
  readonly #pace: WalkPace;
  readonly #clock: ClockWatch;
  readonly #notify: NotifyWatch;
  /** Attempts that cannot be failed, each said once. */
  readonly #told = new Set<string>();
  #workerId: WorkerId | undefined;
  #started = false;
  /** Set to the next look of this worker, unless another one looks before. */
  #timer: NodeJS.Timeout | undefined;
  /** The second look: not at the next round, which may come a moment too soon to count. */
  #confirming: NodeJS.Timeout | undefined;
  #looking: Promise<number> | undefined;
  /** When a worker has looked last, here or elsewhere, by `performance.now()`. */
  #lookedAt = -Infinity;
  /** True since this worker has looked, until it hears of one that goes before. */
  #leading = false;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
    this.#pace = new WalkPace(parts.timing.intervalMs * looksPerWalk);
    this.#clock = new ClockWatch(parts.events);
    this.#notify = new NotifyWatch(parts.events);
  }

  start(workerId: WorkerId): void {
    this.#workerId = workerId;
    if (!this.#parts.options.recovery) return;
    this.#started = true;
    this.#lookIn(this.#parts.timing.intervalMs);
    this.#parts.table.start();
  }

  async stop(): Promise<void> {
    this.#started = false;
    clearTimeout(this.#timer);
    clearTimeout(this.#confirming);
    await this.#looking?.catch(() => 0);
  }

  /** The last outcome of this worker is written: what follows it is looked for once more. */
  async finish(): Promise<void> {
    await this.#parts.table.stop();
  }

  /** Another worker has looked: it will again. Of several that look at the same time, the oldest goes on. */
  postpone(isOlder: boolean): void {
    this.#lookedAt = performance.now();
    if (this.#leading && !isOlder) return;
    this.#leading = false;
    if (!this.#looking) this.#lookIn(this.#patienceMs);
  }

  /** True while some worker of the fleet looks every few seconds. */
  get isContinuous(): boolean {
    return performance.now() - this.#lookedAt < lookCounts * this.#parts.timing.intervalMs;
  }

  /** Two looks, far enough apart: for the retry routine. Returns how many attempts were recovered. */
  async round(): Promise<number> {
    this.#pace.hurry();
    const recovered = await this.look();
    if (this.#unconfirmed === 0) return recovered;
    await delay(this.#confirmMs);
    return recovered + (await this.look());
  }

  /** One look: recovers what was missing long enough, notes what is missing now. */
  async look(): Promise<number> {
    return (await this.#lookForAbandoned()) + (await this.#lookForLost());
  }

  /**
   * Fails what a worker holds whose process has ended, and signs it off, without waiting until it is missed.
   *
   * @param how its process has ended
   */
  async failEnded(workerId: WorkerId, how: string): Promise<void> {
    const sentAt = performance.now();
    const { recovered } = await this.#failHeldBy(workerId, { how });
    await this.#parts.database.workers.retire(workerId, 'stopped');
    if (recovered > 0) void this.#parts.bell.ring('tasks', { later: true, sentAt });
  }

  /** With interop: what crashed workers of nsj-queue-lib left, whose locks went with them. */
  async #lookForAbandoned(): Promise<number> {
    const { database, bell } = this.#parts;
    const { interop } = database;
    if (!interop || !this.#workerId) return 0;
    // What runs under locks elsewhere looks abandoned.
    if (!(await this.#parts.foreignLocks.areAbsent())) return 0;
    const sentAt = performance.now();
    let recovered = 0;
    for (;;) {
      const taken = await interop.takeOver(this.#workerId, page);
      if (taken.length === 0) break;
      recovered += (await this.#fail(taken, 'a worker of nsj-queue-lib')).length;
    }
    if (recovered > 0) void bell.ring('tasks', { later: true, sentAt });
    return recovered;
  }

  async #lookForLost(): Promise<number> {
    const { database, bell, liveness, timing } = this.#parts;
    if (this.#pace.due) await this.#findUnregistered();
    const looker = this.#workerId;
    const ring = looker === undefined ? undefined : bell.carried('looks', looker);
    const found = await liveness.findMissing(this.#unregistered, ring);
    // What was missing before counts anyway: a server that restarts often must not stop recovery for good.
    if (!found) return 0;
    const { missing, noted, hasOthers, atMs, notifyUsage } = found;
    this.#clock.learn(atMs);
    this.#notify.learn(notifyUsage);
    // Others need not look.
    if (hasOthers && !ring && bell.canListen && looker !== undefined) void bell.ring('looks', looker);
    this.#unconfirmed = 0;
    if (missing.length === 0 && !noted) return 0;
    const lost = await database.workers.confirmLost(missing, timing.confirmMs);
    this.#unconfirmed = missing.length - lost.length;
    let recovered = 0;
    for (const id of lost) recovered += await this.#recover(id);
    return recovered;
  }

  async #findUnregistered(): Promise<void> {
    const { database, table } = this.#parts;
    const holders = await this.#pace.walk(() => database.workers.unregisteredHolders());
    this.#unregistered = holders.filter((id) => id !== undefined);
    // Nobody's: whether they were pending or what they have done, nobody can tell.
    if (holders.includes(undefined)) table.checkSoon();
  }

  #lookIn(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#started) this.#timer = setTimeout(() => void this.#takeTurn(), ms);
  }

  async #takeTurn(): Promise<void> {
    // A slow look is not overtaken by the next one.
    if (this.#looking) return;
    this.#leading = true;
    this.#looking = this.look();
    await this.#looking.catch((error: unknown) => {
      this.#leading = false;
      this.#parts.events.emit('routine.failed', { routine: 'recover', error });
    });
    this.#looking = undefined;
    if (this.#leading) this.#lookedAt = performance.now();
    // A worker that cannot look lets another one try.
    this.#lookIn(this.#leading ? this.#parts.timing.intervalMs : this.#patienceMs);
    this.#confirmLater();
  }

  /** So that a killed worker's tasks go on after one interval and one confirmation, whatever the two are. */
  #confirmLater(): void {
    if (this.#unconfirmed === 0 || !this.#started || this.#confirming) return;
    this.#confirming = setTimeout(() => {
      this.#confirming = undefined;
      void this.#takeTurn();
    }, this.#confirmMs);
  }

  /** A moment more, so that the second look is not a moment too early. */
  get #confirmMs(): number {
    return this.#parts.timing.confirmMs + 10;
  }

  get #patienceMs(): number {
    return this.#parts.timing.intervalMs * (1 + patience * (1 + Math.random()));
  }

  /** Fails what a lost worker holds and signs it off; rings for the next attempts and for what only it attended. */
  async #recover(workerId: WorkerId): Promise<number> {
    const { database, bell } = this.#parts;
    const sentAt = performance.now();
    const { recovered, isAll } = await this.#failHeldBy(workerId);
    if (isAll) {
      await database.workers.retire(workerId, 'lost');
      // It cannot look any more whether what it has failed or delivered is there.
      this.#parts.table.checkSoon();
      this.#unregistered = this.#unregistered.filter((id) => id !== workerId);
    }
    // Dead attempts that only this worker had a handler for are everybody's now, even when it held nothing.
    if (isAll || recovered > 0) void bell.ring('tasks', { later: true, sentAt });
    return recovered;
  }

  /** Rows that another session has locked are left for the next look: then these were not all. */
  async #failHeldBy(
    workerId: WorkerId,
    ended?: { readonly how: string },
  ): Promise<{ readonly recovered: number; readonly isAll: boolean }> {
    // One that is not known to have ended may be back.
    const isLost = ended === undefined;
    const worker = ended && `detached worker ${workerId} (${ended.how})`;
    let recovered = 0;
    for (;;) {
      const held = await this.#parts.database.attempts.heldBy(workerId, page, isLost);
      if (held.length === 0) return { recovered, isAll: true };
      const outcomes = await this.#fail(held, worker);
      recovered += outcomes.length;
      if (outcomes.length < held.length) return { recovered, isAll: false };
    }
  }

  async #fail(held: readonly HeldTask[], worker?: string): Promise<readonly FailureOutcome[]> {
    const failures = held.map((task) => this.#failureOf(task, worker ?? `worker ${task.workerId}`));
    const outcomes: FailureOutcome[] = [];
    for (let left: readonly Failure[] = failures; left.length > 0;) {
      const written = await writeFailures(this.#parts.database, [left]);
      this.#report(held, new Map(written.outcomes.map((outcome) => [outcome.id, outcome])));
      outcomes.push(...written.outcomes);
      for (const { failure, error } of written.refused) this.#tellRefused(failure, error);
      if (written.error !== undefined) throw written.error;
      ({ left } = written);
    }
    return outcomes;
  }

  /** It stays as it is until the next look. */
  #tellRefused({ id }: Failure, error: unknown): void {
    if (!this.#told.has(id)) {
      const text = `attempt ${id} of a lost worker cannot be failed: ${failureMessage(error)}`;
      this.#parts.events.emit('warning', { message: `${text}. It stays as it is and will be retried` });
    }
    if (this.#told.size >= mostTold) this.#told.clear();
    this.#told.add(id);
  }

  #failureOf(held: HeldTask, worker: string): Failure {
    const rules = handlerOf(this.#parts.registry, held)?.rules;
    const error = new TarefaError('WORKER_LOST', `${worker} was lost: the attempt was aborted abruptly`);
    return {
      id: held.id,
      reservation: held.reservation,
      workerId: held.workerId,
      message: error.message,
      error: failureDetail(error.message),
      ...verdict({
        attempt: held.task.attempt,
        losses: held.losses,
        maxAttempts: attemptsOf(held.task, rules, this.#parts.options),
        next: { kind: 'after-failure', delayMs: 0 },
        lost: true,
      }),
    };
  }

  #report(held: readonly HeldTask[], written: ReadonlyMap<string, FailureOutcome>): void {
    const { events } = this.#parts;
    for (const one of held) {
      const outcome = written.get(one.id);
      if (!outcome) continue;
      const task = reference(one);
      if (outcome.cancelled) events.emit('task.cancelled', { task, ...outcome.cancelled });
      else events.emit('task.recovered', { task, workerId: one.workerId });
    }
  }
}
