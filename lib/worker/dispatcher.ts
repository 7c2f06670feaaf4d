import { Backoff } from '../timing/backoff.js';
import type { Coordinator, Ring } from '../coordination/coordinator.js';
import type { FanOut } from './fan-out.js';
import { hasCode } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { ClaimedTask, FailureOutcome, WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { Claimer } from './claiming/claimer.js';
import type { DemandBook } from './claiming/demand.js';
import { Discovery } from './claiming/discovery.js';
import type { Executor } from './running/executor.js';
import type { HaltOrder } from './halt-order.js';
import { Isolation } from './claiming/isolation.js';
import { Pauses, type Hold } from './claiming/pauses.js';
import { LaneOpener } from './claiming/lane-opener.js';
import type { Reconciler } from './reconciler.js';
import { Reminders } from './claiming/reminders.js';
import { RunningTasks, type RunningTask } from './running/running-tasks.js';
import { reference, type Settler } from './running/settler.js';
import { nextTurn, type Signal } from '../timing/signal.js';
import { Unreadable } from './claiming/unreadable.js';
import type { WorkerOptions } from '../options/worker-options.js';

/** What a {@link Dispatcher} works with. */
export interface DispatcherParts {
  readonly database: QueueDatabase;
  readonly coordinator: Coordinator;
  readonly executor: Executor;
  readonly fanOut: FanOut;
  readonly settler: Settler;
  readonly reconciler: Reconciler;
  readonly halt: HaltOrder;
  readonly demand: DemandBook;
  /** Which routes wait. Default: those that somebody has paused. */
  readonly holds?: (() => Promise<readonly Hold[]>) | undefined;
  readonly signal: Signal;
  readonly options: WorkerOptions;
  readonly events: QueueEvents;
}

/** Scheduled tasks promoted by one statement. */
const promotePage = 1_000;

/**
 * Decides when to claim and how much: one loop, one statement at a time, no timer between a ring, a free slot
 * or an outcome and the statement that answers it.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #running = new RunningTasks();
  readonly #backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
  readonly #reminders: Reminders;
  readonly #discovery: Discovery;
  readonly #isolation: Isolation;
  readonly #claimer: Claimer;
  readonly #second: LaneOpener;
  readonly #pauses: Pauses;
  #workerId: WorkerId = '';
  #loop: Promise<void> | undefined;
  #assistant: Promise<void> | undefined;
  #claiming = false;
  #finishing = false;
  #late = false;
  #lookDue = false;
  /** True from a failed statement until the next good one: what happened is said once. */
  #troubled = false;
  /** True after a lost connection: what the table says we hold is compared with what we know. */
  #unsure = false;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    const { database, coordinator, demand, options } = parts;
    const wake = (): void => this.wake();
    const later = (ms: number): void => this.#reminders.lookIn(ms);
    const pauses = new Pauses({ read: parts.holds ?? (() => readPaused(database)), later });
    this.#pauses = pauses;
    this.#isolation = new Isolation({ database, coordinator, demand, pauses, changed: wake });
    const lookForDead = (): void => {
      this.#discovery.request();
      wake();
    };
    const unreadable = new Unreadable({ ...parts, buried: lookForDead });
    const start = (claimed: readonly ClaimedTask[]): void => this.#startAll(claimed);
    const free = (): number => this.#claimer.free;
    this.#discovery = new Discovery({ database, demand, unreadable, free, start, found: wake, later });
    this.#reminders = new Reminders({
      wake,
      look: () => this.look(),
      compare: () => this.#compare(),
      isIdle: () => this.#running.size === 0 && parts.reconciler.isSure,
      reconcile: () => this.reconcile(),
      nextDue: () => parts.reconciler.nextDue(this.#workerId),
      askHalted: () => parts.halt.ask(),
      halted: () => parts.halt.obey(),
      pollIntervalMs: options.pollIntervalMs,
    });
    this.#claimer = new Claimer({
      ...parts,
      pauses,
      isolation: this.#isolation,
      reminders: this.#reminders,
      running: this.#running,
      unreadable,
      mayClaim: () => this.#claiming && coordinator.alive,
      start,
      wake,
    });
    const { signal } = this.#claimer.lanes;
    this.#second = new LaneOpener({ database, lane: 'second', changed: () => signal.set() });
  }

  /** What runs now. */
  get running(): RunningTasks {
    return this.#running;
  }

  start(workerId: WorkerId): void {
    this.#workerId = workerId;
    this.#claimer.begin(workerId);
    this.#discovery.begin(workerId);
    this.#claiming = true;
    this.#reminders.start();
    this.#loop = this.#run();
    this.#assistant = this.#claimer.lanes.two ? this.#assist() : undefined;
    this.look();
  }

  /** Looks at everything: promotes what is due, finds routes, claims. */
  look(): void {
    this.#lookDue = true;
    this.#discovery.request();
    this.wake();
  }

  /** Claims, because there may be something new. */
  wake(): void {
    this.#claimer.expect();
    this.#parts.signal.set();
  }

  rung({ later, paused, dueMs, highest }: Ring): void {
    if (paused) this.#pauses.doubt();
    else if (dueMs === undefined) this.#claimer.expectAnything();
    // What is to be run alone is asked for by a look only.
    if (later || paused) this.#lookDue = true;
    if (dueMs !== undefined && highest !== undefined) this.#claimer.expectSince(dueMs, highest);
    this.#discovery.request();
    this.wake();
  }

  /** Compares all that the table says we hold with what we know, whatever it takes, then looks at everything. */
  reconcile(): void {
    this.#parts.reconciler.doubt();
    this.#compare();
  }

  /** From now on nothing new is claimed; what runs goes on and is settled. */
  stopClaiming(): void {
    this.#claiming = false;
    this.#reminders.stop();
    this.#isolation.stop();
  }

  /** Ends the loop once all outcomes are in the table, or at the deadline. */
  async finish(deadline: Promise<void>): Promise<void> {
    this.#finishing = true;
    this.#second.stop();
    this.#parts.signal.set();
    const late = deadline.then(() => {
      this.#late = true;
      this.#backoff.cancel();
      this.#parts.signal.set();
    });
    this.#claimer.lanes.signal.set();
    await Promise.race([Promise.all([this.#loop, this.#assistant]), late]);
  }

  #compare(): void {
    this.#unsure = true;
    // At once: should this cycle hang in a statement, its claim comes before the comparison.
    this.#claimer.expectAnything();
    this.look();
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

  /** The second lane: sends what is left for it while a statement of the first is under way. */
  async #assist(): Promise<void> {
    const { lanes } = this.#claimer;
    while (!this.#late && !this.#finishing) {
      await lanes.signal.wait();
      await nextTurn();
      if (!this.#claiming || this.#unsure || this.#isolation.active || !lanes.mayAssist) continue;
      if (!this.#second.isOpen()) continue;
      try {
        if ((await this.#claimer.settleAndClaim('second')) > 0) lanes.signal.set();
      } catch (error) {
        // It is woken again by the next statement of the first lane, which waits when it fails as well.
        this.#noteTrouble(error);
      }
      this.#parts.signal.set();
    }
  }

  #isOver(): boolean {
    return (
      this.#late || (this.#finishing && this.#parts.settler.pending === 0 && !this.#claimer.lanes.assisting)
    );
  }

  async #cycle(): Promise<void> {
    if (this.#unsure) await this.#compareWithTable();
    if (this.#claiming) await this.#pauses.refresh();
    if (this.#lookDue && this.#claiming) await this.#promote();
    await this.#flushFailures();
    if (this.#claiming && this.#discovery.comesFirst) await this.#discovery.run();
    const claimed = await this.#claimer.settleAndClaim('first');
    if (this.#parts.options.interop) await this.#keepTaskLocks();
    if (claimed === 0 && this.#claiming) await this.#discovery.run();
  }

  async #keepTaskLocks(): Promise<void> {
    const { database, settler } = this.#parts;
    const held = [...this.#running.all().map(({ claimed }) => claimed.id), ...settler.ids()];
    const kept = await database.interop?.keepTaskLocks(this.#workerId, held);
    if (kept === false) this.#reminders.retryLocked();
  }

  async #compareWithTable(): Promise<void> {
    await this.#parts.reconciler.compare(this.#workerId, this.#running);
    this.#unsure = false;
    this.#pauses.doubt();
    // A poll bounds the delay, whatever happened to the rings.
    this.#claimer.expectAnything();
    // A failure may be written whose answer, with the time of its next attempt, was lost.
    this.#lookDue = true;
  }

  #startAll(claimed: readonly ClaimedTask[]): void {
    const publications: RunningTask[] = [];
    for (const one of claimed) {
      const running = this.#begin(one);
      if (one.publication && !one.task.dead) publications.push(running);
      else void this.#parts.executor.run(running).finally(() => this.#end(running));
    }
    if (publications.length === 0) return;
    void this.#parts.fanOut
      .deliver(publications.map((running) => running.claimed))
      .finally(() => publications.forEach((running) => this.#end(running)));
  }

  #begin(claimed: ClaimedTask): RunningTask {
    if (claimed.losses > 0) this.#running.replace(claimed);
    this.#parts.demand.start(claimed);
    if (this.#parts.events.has('task.claimed')) {
      this.#parts.events.emit('task.claimed', { task: reference(claimed) });
    }
    return this.#running.begin(claimed);
  }

  #end(running: RunningTask): void {
    this.#running.end(running);
    if (this.#parts.demand.end(running.claimed)) this.#claimer.expect();
    this.#parts.signal.set();
  }

  async #flushFailures(): Promise<void> {
    const sentAt = performance.now();
    const outcomes = await this.#parts.settler.flushFailures();
    if (outcomes.length === 0) return;
    this.#followUp(outcomes, sentAt);
  }

  /** Next attempts need a timer, here and in case this worker dies in the others; dead chains need a worker. */
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
    this.#parts.coordinator.ring({ later, sentAt });
  }

  async #promote(): Promise<void> {
    this.#lookDue = false;
    const { database, coordinator, events, options } = this.#parts;
    const page = options.scheduledTimer ? promotePage : 0;
    const { promoted, earliest, nextDueInMs, isolated } = await database.attempts
      .promote(page)
      .catch((error: unknown) => {
        this.#lookDue = true;
        throw error;
      });
    if (promoted > 0) {
      events.emit('tasks.promoted', { count: promoted });
      // At `-infinity`, which is no date, as well.
      const dueMs = Date.parse(earliest ?? '') || 0;
      this.#claimer.expectSince(dueMs, Infinity);
      coordinator.ring({ later: isolated, dueMs });
    }
    if (isolated) this.#isolation.request();
    if (!options.scheduledTimer) return;
    if (promoted === promotePage) this.look();
    if (nextDueInMs !== undefined) this.#reminders.lookIn(nextDueInMs);
  }

  async #recoverFrom(error: unknown): Promise<void> {
    this.#noteTrouble(error);
    await this.#backoff.wait();
    this.#parts.signal.set();
  }

  #noteTrouble(error: unknown): void {
    const isLost = hasCode(error, 'CONNECTION_LOST');
    this.#unsure ||= isLost;
    if (isLost) this.#parts.reconciler.doubt();
    // A lost connection says so itself.
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

async function readPaused(database: QueueDatabase): Promise<readonly Hold[]> {
  return (await database.attempts.pausedRoutes()).map((route) => ({ route, forMs: undefined }));
}
