import { Backoff } from '../timing/backoff.js';
import type { Ring } from '../coordination/ring.js';
import { hasCode } from '../errors.js';
import type { ClaimedTask, FailureOutcome, WorkerId } from '../storage/attempt.js';
import type { Interop } from '../storage/interop.js';
import { plainRoute } from '../storage/route.js';
import { Claimer, type StatementName, StatementsUnderWay, type Turn } from './claiming/claimer.js';
import { Demands } from './claiming/routes.js';
import { RouteScan } from './claiming/route-scan.js';
import { Isolation } from './claiming/isolation.js';
import { ClaimsAfterStop } from './claiming/claims-after-stop.js';
import { Pauses, readPaused } from './claiming/pauses.js';
import { Agenda, type HearingLoop, isClaiming, type Loop, type Mode } from './agenda.js';
import { RouteMap } from './claiming/route-map.js';
import { SecondStatement } from './claiming/second-statement.js';
import { Unreadable } from './claiming/unreadable.js';
import { Promotion } from './promotion.js';
import { Reconciler } from './reconciler.js';
import { RunningTasks, TaskStarter } from './running/running-tasks.js';
import { nextTurn } from '../timing/signal.js';
import type { DispatcherParts } from './dispatcher-parts.js';

/**
 * Decides when to claim: one loop, one statement at a time, no timer between a ring, a free slot or an outcome and the
 * statement that answers it. Where that is faster, a second loop sends what the first one leaves.
 *
 * ```
 * claiming ──stopClaiming──▶ draining ──finish──▶ settling ──all recorded, or the deadline──▶ ended
 *   ▲  │└──────runOnly────────▲ ▲
 *   │  └─setAlone─▶ alone ──────┘
 *   └──────────────────┘
 * ```
 */
export class Dispatcher implements Loop, HearingLoop {
  readonly #workerId: WorkerId;
  readonly #parts: DispatcherParts;
  readonly #running = new RunningTasks();
  readonly #backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
  readonly #agenda: Agenda;
  readonly #routeScan: RouteScan;
  readonly #isolation: Isolation;
  readonly #claimer: Claimer;
  readonly #underWay: StatementsUnderWay;
  /** Undefined where one statement at a time is best. */
  readonly #second: SecondStatement | undefined;
  readonly #pauses: Pauses;
  readonly #reconciler: Reconciler;
  readonly #promotion: Promotion;
  readonly #starter: TaskStarter;
  readonly #claimsAfterStop: ClaimsAfterStop;
  #loop: Promise<void> | undefined;
  #secondLoop: Promise<void> | undefined;
  #mode: Mode = 'claiming';
  /** True after a lost connection: rows held in the table are compared with the attempts that run here. */
  #mustCompare = false;

  constructor(workerId: WorkerId, parts: DispatcherParts) {
    this.#workerId = workerId;
    this.#parts = parts;
    const { database, served, options, events } = parts;
    const warn = (message: string): void => events.emit('warning', { message });
    const claims = database.claimsOf(workerId, { concurrency: options.concurrency, warn });
    const map = new RouteMap(served);
    const demands = new Demands(served, parts.capacity, map, options.order);
    const running = this.#running;

    this.#underWay = new StatementsUnderWay(options.concurrency, claims.parallel);
    this.#second = claims.parallel > 1 ? new SecondStatement(claims, this.#underWay.firstSent) : undefined;
    this.#reconciler = new Reconciler(workerId, parts);
    this.#promotion = new Promotion(database, parts.bell, events, options);
    this.#agenda = new Agenda(this, running, this.#reconciler, parts.halt, options);
    const shared = { ...parts, loop: this, claims, map, demands, running, agenda: this.#agenda };
    this.#pauses = new Pauses(parts.pausedRoutes ?? (() => readPaused(database)), this.#agenda);
    this.#isolation = new Isolation({ ...shared, pauses: this.#pauses });
    const unreadable = new Unreadable(database, claims, events, this);
    this.#claimer = new Claimer({
      ...shared,
      isolation: this.#isolation,
      pauses: this.#pauses,
      underWay: this.#underWay,
      unreadable,
    });
    this.#routeScan = new RouteScan({
      ...shared,
      claimer: this.#claimer,
      isolation: this.#isolation,
      promotion: this.#promotion,
      unreadable,
    });
    this.#starter = new TaskStarter({ ...shared, claimer: this.#claimer });
    this.#claimsAfterStop = new ClaimsAfterStop(workerId, database, parts.bell, events, parts.signal);
  }

  get mode(): Mode {
    return this.#mode;
  }

  /** What runs now. */
  get running(): RunningTasks {
    return this.#running;
  }

  start(): void {
    this.#agenda.start();
    this.#loop = this.#run();
    this.#secondLoop = this.#second && this.#runSecond(this.#second);
    this.look();
  }

  /** Runs an attempt that this worker holds already, and claims no other. */
  runOnly(claimed: ClaimedTask): void {
    this.#mode = 'draining';
    this.#agenda.start();
    this.#loop = this.#run();
    this.#starter.startAll([claimed]);
  }

  /** Looks at everything: promotes what is due, finds routes, claims. */
  look(): void {
    this.#promotion.request();
    this.#routeScan.request();
    this.wake();
  }

  /** Claims, because there may be something new. */
  wake(): void {
    this.#claimer.expect();
    this.#parts.signal.set();
  }

  setAlone(isAlone: boolean): void {
    if (this.#isClaiming) this.#mode = isAlone ? 'alone' : 'claiming';
    this.wake();
  }

  heard(ring: Ring): boolean {
    if (ring.changed) this.compare();
    else if (this.#routeScan.heard(ring)) this.wake();
    return ring.route !== undefined && this.#parts.served.hasLive(plainRoute(ring.route));
  }

  hears(isHearing: boolean): void {
    this.#agenda.hears(isHearing);
    if (isHearing) this.compare();
  }

  /** Compares rows held in the table with the attempts that run here, then looks at everything. */
  compare(): void {
    this.#mustCompare = true;
    // Set at once: should this cycle hang in a statement, its claim comes before the comparison.
    this.#claimer.expectAnything();
    this.look();
  }

  /** Compares all rows held in the table with the attempts that run here, however long that takes, then looks at everything. */
  reconcile(): void {
    this.#reconciler.requireFull();
    this.compare();
  }

  /** From now on nothing new is claimed; what runs goes on and is settled, and what a claim under way brings is given back. */
  stopClaiming(): void {
    if (this.#isClaiming) this.#mode = 'draining';
    this.#agenda.stop();
    this.#isolation.end();
  }

  /** Ends the loop once all outcomes are in the table and claims answered after the stop are given back, or at the deadline. */
  async finish(deadline: Promise<void>): Promise<void> {
    this.#mode = 'settling';
    this.#second?.stop();
    this.#parts.signal.set();
    const late = deadline.then(() => {
      this.#mode = 'ended';
      this.#backoff.cancel();
      this.#parts.signal.set();
    });
    this.#underWay.firstSent.set();
    await Promise.race([Promise.all([this.#loop, this.#secondLoop]), late]);
    this.#mode = 'ended';
  }

  async #run(): Promise<void> {
    while (this.#mode !== 'ended' && !(this.#mode === 'settling' && this.#isSettled())) {
      await this.#parts.signal.wait();
      // Handlers that end in the same turn are settled together.
      await nextTurn();
      try {
        await this.#cycle();
        if (this.#parts.outage.error !== undefined) this.#recovered();
      } catch (error) {
        this.#noteError(error);
        await this.#backoff.wait();
        this.#parts.signal.set();
      }
    }
  }

  get #isClaiming(): boolean {
    return isClaiming(this.#mode);
  }

  /** All outcomes are in the table, and claims answered after the stop are given back. */
  #isSettled(): boolean {
    const unwritten = this.#parts.settler.pending + this.#claimsAfterStop.held.length;
    return unwritten === 0 && !this.#underWay.has('second');
  }

  async #cycle(): Promise<void> {
    if (this.#mustCompare) await this.#compareWithTable();
    const { settler, database } = this.#parts;
    if (this.#isClaiming && this.#pauses.staleAt < Infinity && (await this.#pauses.refresh()))
      this.#claimer.expectAnything();
    if (this.#promotion.due && this.#isClaiming) await this.#promote();
    if (settler.failing > 0) await this.#flushFailures();
    if (this.#isClaiming && this.#routeScan.hasToDo && this.#routeScan.comesFirst) await this.#scanRoutes();
    const claimed = await this.#claim('first');
    if (this.#claimsAfterStop.held.length > 0) await this.#claimsAfterStop.release();
    if (database.interop) await this.#keepTaskLocks(database.interop);
    if (!this.#isClaiming || !this.#routeScan.hasToDo) return;
    if (claimed === 0 || this.#routeScan.mayGoOn) await this.#scanRoutes();
  }

  /** Sends what is left for a second statement while the first is under way. */
  async #runSecond(second: SecondStatement): Promise<void> {
    const { firstSent } = this.#underWay;
    while (this.#isClaiming || this.#mode === 'draining') {
      await firstSent.wait();
      await nextTurn();
      // Work that does not wait for a statement is left to the first loop.
      const isFirstUnderWay = this.#underWay.has('first');
      if (this.#mode !== 'claiming' || this.#mustCompare || !isFirstUnderWay) continue;
      if (!second.canBeSent()) continue;
      try {
        if ((await this.#claim('second')) > 0) firstSent.set();
      } catch (error) {
        // The next statement of the first loop wakes it again; a failing one waits first.
        this.#noteError(error);
      }
      this.#parts.signal.set();
    }
  }

  /** Settles, claims and starts what was claimed; returns how many that were. */
  async #claim(name: StatementName): Promise<number> {
    let turn: Turn;
    try {
      turn = await this.#claimer.turn(name);
      this.#start(turn.claimed);
    } finally {
      // Only now: the other loop must not fill these slots before they are taken.
      this.#underWay.end(name);
    }
    if (turn.again) this.#parts.signal.set();
    await this.#parts.settler.settled(turn.outcomes, turn);
    return turn.claimed.length;
  }

  async #scanRoutes(): Promise<void> {
    if (this.#routeScan.begin()) this.#start(await this.#routeScan.claimUnattended());
    if (this.#routeScan.mayGoOn && (await this.#routeScan.findRoutes())) this.wake();
  }

  #start(claimed: readonly ClaimedTask[]): void {
    const { apart } = this.#parts.database;
    if (apart?.isAny && claimed.length > 0) apart.claimed();
    if (this.#isClaiming) this.#starter.startAll(claimed);
    else this.#claimsAfterStop.add(claimed);
  }

  async #keepTaskLocks(interop: Interop): Promise<void> {
    const held = [...this.#running.ids(), ...this.#parts.settler.ids(), ...this.#claimsAfterStop.ids()];
    const kept = await interop.keepTaskLocks(this.#workerId, held);
    if (!kept) this.#agenda.retryLocked();
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
        if (this.#parts.options.scheduledTimer) this.#agenda.lookIn(Math.max(1, nextAttemptInMs));
      }
      if (deadId === undefined) continue;
      this.#claimer.expect();
      this.#routeScan.request();
    }
    void this.#parts.bell.ring('tasks', { later, sentAt });
  }

  async #promote(): Promise<void> {
    const { earliestMs, isolated, isFullPage, nextDueInMs } = await this.#promotion.run();
    if (earliestMs !== undefined) {
      this.#claimer.expectSince(earliestMs, Infinity);
      // On whichever routes.
      this.#routeScan.request();
    }
    if (isolated) this.#isolation.request();
    if (isFullPage) this.look();
    if (nextDueInMs !== undefined) this.#agenda.lookIn(nextDueInMs);
  }

  /** Everything went well after something had failed. */
  #recovered(): void {
    this.#backoff.reset();
    this.#parts.outage.end();
  }

  #noteError(error: unknown): void {
    const isLost = hasCode(error, 'CONNECTION_LOST');
    this.#mustCompare ||= isLost;
    if (isLost) this.#reconciler.requireFull();
    this.#parts.outage.report(error, isLost);
    this.#claimer.expect();
  }
}
