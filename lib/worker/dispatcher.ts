import { Backoff } from '../timing/backoff.js';
import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import type { Ring } from '../coordination/ring.js';
import { hasCode } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { FailureOutcome, WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { Capacity } from './claiming/capacity.js';
import { Claimer, type Turn } from './claiming/claimer.js';
import { Discovery } from './claiming/discovery.js';
import { Isolation } from './claiming/isolation.js';
import { Pauses, readPaused, type Hold } from './claiming/pauses.js';
import { Reminders } from './claiming/reminders.js';
import { SecondStatement } from './claiming/second-statement.js';
import { StatementsUnderWay, type StatementName } from './claiming/statements-under-way.js';
import { Unreadable } from './claiming/unreadable.js';
import type { FanOut } from './fan-out.js';
import type { HaltOrder } from './halt-order.js';
import { Promotion } from './promotion.js';
import { Reconciler } from './reconciler.js';
import type { Executor } from './running/executor.js';
import { RunningTasks } from './running/running-tasks.js';
import type { Settler } from './running/settler.js';
import { TaskStarter } from './task-starter.js';
import { nextTurn, type Signal } from '../timing/signal.js';
import type { WorkerOptions } from '../options/worker-options.js';

export interface DispatcherParts {
  readonly database: Pick<QueueDatabase, 'attempts' | 'claimsOf' | 'classify' | 'interop'>;
  readonly bell: Pick<Bell, 'ring'>;
  readonly liveness: Pick<Liveness, 'alive' | 'exclusively'>;
  readonly executor: Pick<Executor, 'run' | 'fail'>;
  readonly fanOut: Pick<FanOut, 'deliver'>;
  readonly settler: Settler;
  readonly halt: Pick<HaltOrder, 'ask' | 'obey'>;
  readonly capacity: Capacity;
  /** Which routes wait. Default: those that are paused. */
  readonly holds?: (() => Promise<readonly Hold[]>) | undefined;
  /** Set when there is something to do, by the settler too. */
  readonly signal: Signal;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}

/**
 * Decides when to claim: one loop, one statement at a time, no timer between a ring, a free slot or an outcome and the
 * statement that answers it. Where that is faster, a second loop sends what the first one leaves.
 */
export class Dispatcher {
  readonly #workerId: WorkerId;
  readonly #parts: DispatcherParts;
  readonly #running = new RunningTasks();
  readonly #backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
  readonly #reminders: Reminders;
  readonly #discovery: Discovery;
  readonly #isolation: Isolation;
  readonly #claimer: Claimer;
  readonly #underWay: StatementsUnderWay;
  /** Undefined where one statement at a time is best. */
  readonly #second: SecondStatement | undefined;
  readonly #pauses: Pauses;
  readonly #reconciler: Reconciler;
  readonly #promotion: Promotion;
  readonly #starter: TaskStarter;
  #loop: Promise<void> | undefined;
  #secondLoop: Promise<void> | undefined;
  #finishing = false;
  #late = false;
  /** True from a failed statement until the next good one, so that an outage is reported once. */
  #troubled = false;
  /** True after a lost connection: rows held in the table are compared with the attempts that run here. */
  #mustCompare = false;

  constructor(workerId: WorkerId, parts: DispatcherParts) {
    this.#workerId = workerId;
    this.#parts = parts;
    const { database, capacity, options, events, halt } = parts;
    const { concurrency, pollIntervalMs } = options;
    const warn = (message: string): void => events.emit('warning', { message });
    const claims = database.claimsOf(workerId, { concurrency, warn });
    const wake = (): void => this.wake();
    const later = (ms: number): void => this.#reminders.lookIn(ms);
    const shared = { ...parts, claims, later };
    const running = this.#running;

    this.#underWay = new StatementsUnderWay(concurrency, claims.parallel);
    const { firstSent } = this.#underWay;
    this.#second = claims.parallel > 1 ? new SecondStatement(claims, () => firstSent.set()) : undefined;
    this.#pauses = new Pauses({ read: parts.holds ?? (() => readPaused(database)), later });
    this.#isolation = new Isolation({ ...shared, pauses: this.#pauses, changed: wake });
    const unreadable = new Unreadable({ ...shared, buried: () => this.#lookForDead() });
    this.#discovery = new Discovery({ ...shared, unreadable, free: () => this.#claimer.free });
    this.#reconciler = new Reconciler(workerId, shared);
    this.#promotion = new Promotion(parts);
    this.#reminders = new Reminders({
      wake,
      look: () => this.look(),
      compare: () => this.#compare(),
      isIdle: () => running.size === 0 && this.#reconciler.isSure,
      reconcile: () => this.reconcile(),
      nextDue: () => this.#reconciler.nextDue(),
      askHalted: () => halt.ask(),
      halted: () => halt.obey(),
      pollIntervalMs,
    });
    this.#claimer = new Claimer({
      ...shared,
      isolation: this.#isolation,
      pauses: this.#pauses,
      reminders: this.#reminders,
      running,
      underWay: this.#underWay,
      unreadable,
    });
    this.#starter = new TaskStarter({
      ...parts,
      running,
      capacity,
      freed: (wasAtLimit) => this.#freed(wasAtLimit),
    });
  }

  /** What runs now. */
  get running(): RunningTasks {
    return this.#running;
  }

  start(): void {
    this.#reminders.start();
    this.#loop = this.#run();
    this.#secondLoop = this.#second && this.#runSecond(this.#second);
    this.look();
  }

  /** Looks at everything: promotes what is due, finds routes, claims. */
  look(): void {
    this.#promotion.request();
    this.#discovery.request();
    this.wake();
  }

  /** Claims, because there may be something new. */
  wake(): void {
    this.#claimer.expect();
    this.#parts.signal.set();
  }

  heard({ later, paused, dueMs, highest }: Ring): void {
    if (paused) this.#pauses.invalidate();
    else if (dueMs === undefined) this.#claimer.expectAnything();
    // Only a look claims attempts that run alone.
    if (later || paused) this.#promotion.request();
    if (dueMs !== undefined && highest !== undefined) this.#claimer.expectSince(dueMs, highest);
    this.#lookForDead();
  }

  /** Compares all rows held in the table with the attempts that run here, however long that takes, then looks at everything. */
  reconcile(): void {
    this.#reconciler.requireFull();
    this.#compare();
  }

  /** From now on nothing new is claimed; what runs goes on and is settled. */
  stopClaiming(): void {
    this.#claimer.stop();
    this.#reminders.stop();
    this.#isolation.stop();
  }

  /** Ends the loop once all outcomes are in the table, or at the deadline. */
  async finish(deadline: Promise<void>): Promise<void> {
    this.#finishing = true;
    this.#second?.stop();
    this.#parts.signal.set();
    const late = deadline.then(() => {
      this.#late = true;
      this.#backoff.cancel();
      this.#parts.signal.set();
    });
    this.#underWay.firstSent.set();
    await Promise.race([Promise.all([this.#loop, this.#secondLoop]), late]);
  }

  async #run(): Promise<void> {
    while (!this.#isOver()) {
      await this.#parts.signal.wait();
      // Handlers that end in the same turn are settled together.
      await nextTurn();
      try {
        await this.#cycle();
        this.#recovered();
      } catch (error) {
        await this.#recoverFrom(error);
      }
    }
  }

  #isOver(): boolean {
    const nothingLeft = this.#parts.settler.pending === 0 && !this.#underWay.has('second');
    return this.#late || (this.#finishing && nothingLeft);
  }

  async #cycle(): Promise<void> {
    if (this.#mustCompare) await this.#compareWithTable();
    if (this.#isClaiming) await this.#pauses.refresh();
    if (this.#promotion.due && this.#isClaiming) await this.#promote();
    await this.#flushFailures();
    if (this.#isClaiming && this.#discovery.comesFirst) await this.#discover();
    const claimed = await this.#claim('first');
    await this.#keepTaskLocks();
    if (claimed === 0 && this.#isClaiming) await this.#discover();
  }

  get #isClaiming(): boolean {
    return !this.#claimer.stopped;
  }

  /** Sends what is left for a second statement while the first is under way. */
  async #runSecond(second: SecondStatement): Promise<void> {
    const { firstSent } = this.#underWay;
    while (!this.#late && !this.#finishing) {
      await firstSent.wait();
      await nextTurn();
      // Work that does not wait for a statement is left to the first loop.
      const isFirstUnderWay = this.#underWay.has('first');
      if (!this.#isClaiming || this.#mustCompare || this.#isolation.active || !isFirstUnderWay) continue;
      if (!second.canBeSent()) continue;
      try {
        if ((await this.#claim('second')) > 0) firstSent.set();
      } catch (error) {
        // The next statement of the first loop wakes it again; a failing one waits first.
        this.#noteTrouble(error);
      }
      this.#parts.signal.set();
    }
  }

  /** Settles, claims and starts what was claimed; answers how many that were. */
  async #claim(name: StatementName): Promise<number> {
    let turn: Turn;
    try {
      turn = await this.#claimer.turn(name);
      this.#starter.startAll(turn.claimed);
    } finally {
      // Only now: the other loop must not fill these slots before they are taken.
      this.#underWay.end(name);
    }
    if (turn.again) this.#parts.signal.set();
    await this.#parts.settler.settled(turn.outcomes, turn);
    return turn.claimed.length;
  }

  async #discover(): Promise<void> {
    if (!this.#discovery.begin()) return;
    this.#starter.startAll(await this.#discovery.claimUnattended());
    if (await this.#discovery.findRoutes()) this.wake();
  }

  async #keepTaskLocks(): Promise<void> {
    const { database, settler } = this.#parts;
    if (!database.interop) return;
    const held = [...this.#running.all().map(({ claimed }) => claimed.id), ...settler.ids()];
    const kept = await database.interop.keepTaskLocks(this.#workerId, held);
    if (!kept) this.#reminders.retryLocked();
  }

  #compare(): void {
    this.#mustCompare = true;
    // Set at once: should this cycle hang in a statement, its claim comes before the comparison.
    this.#claimer.expectAnything();
    this.look();
  }

  async #compareWithTable(): Promise<void> {
    await this.#reconciler.compare(this.#running);
    this.#mustCompare = false;
    this.#pauses.invalidate();
    // A poll bounds the delay when rings are lost.
    this.#claimer.expectAnything();
    // A failure may be in the table though the answer, with the time of its next attempt, was lost.
    this.#promotion.request();
  }

  #freed(wasAtLimit: boolean): void {
    // Earlier claims left its other tasks out.
    if (wasAtLimit) this.#claimer.expect();
    this.#parts.signal.set();
  }

  #lookForDead(): void {
    this.#discovery.request();
    this.wake();
  }

  async #flushFailures(): Promise<void> {
    const sentAt = performance.now();
    const outcomes = await this.#parts.settler.flushFailures();
    if (outcomes.length > 0) this.#followUp(outcomes, sentAt);
  }

  /** Next attempts need a timer, here and, in case this worker dies, in the others; dead chains need a worker. */
  #followUp(outcomes: readonly FailureOutcome[], sentAt: number): void {
    let later = false;
    for (const { nextAttemptInMs, deadId } of outcomes) {
      if (nextAttemptInMs !== undefined) {
        later = true;
        if (this.#parts.options.scheduledTimer) this.#reminders.lookIn(Math.max(1, nextAttemptInMs));
      }
      if (deadId === undefined) continue;
      this.#claimer.expect();
      this.#discovery.request();
    }
    void this.#parts.bell.ring('tasks', { later, sentAt });
  }

  async #promote(): Promise<void> {
    const { earliestMs, isolated, isFullPage, nextDueInMs } = await this.#promotion.run();
    if (earliestMs !== undefined) this.#claimer.expectSince(earliestMs, Infinity);
    if (isolated) this.#isolation.request();
    if (isFullPage) this.look();
    if (nextDueInMs !== undefined) this.#reminders.lookIn(nextDueInMs);
  }

  async #recoverFrom(error: unknown): Promise<void> {
    this.#noteTrouble(error);
    await this.#backoff.wait();
    this.#parts.signal.set();
  }

  #noteTrouble(error: unknown): void {
    const isLost = hasCode(error, 'CONNECTION_LOST');
    this.#mustCompare ||= isLost;
    if (isLost) this.#reconciler.requireFull();
    // A lost connection emits its own event.
    if (!isLost && !this.#troubled) {
      this.#troubled = true;
      this.#parts.events.emit('worker.troubled', { workerId: this.#workerId, error });
    }
    this.#claimer.expect();
  }

  #recovered(): void {
    this.#backoff.reset();
    if (!this.#troubled) return;
    this.#troubled = false;
    this.#parts.events.emit('worker.recovered', { workerId: this.#workerId });
  }
}
