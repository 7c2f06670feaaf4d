import type { Liveness } from '../coordination/liveness.js';
import type { QueueEvents } from '../events.js';
import { errorText } from '../observability/error-text.js';
import type { WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerStall } from '../storage/status-report.js';
import type { RunningTasks } from './running/running-tasks.js';

export interface StandstillParts {
  readonly workerId: WorkerId;
  readonly database: Pick<QueueDatabase, 'apart'>;
  readonly liveness: Pick<Liveness, 'alive' | 'connection' | 'failure'>;
  readonly hidden: HiddenRows;
  readonly outage: Pick<Outage, 'error'>;
  readonly running: Pick<RunningTasks, 'begun'>;
  readonly events: QueueEvents;
}

const tickMs = 10_000;
/** Shorter ones are not worth a word: a server that restarts takes so long. */
const leastMs = 60_000;

/**
 * Watches that a worker may take tasks, and can. One that stands still says so every minute, with the reason, whatever that is: from
 * outside it looks like one that has nothing to do.
 */
export class Standstill {
  readonly #parts: StandstillParts;
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  /** The tick that has found it standing still for the first time. */
  #since: number | undefined;
  /** Attempts begun until the last tick. */
  #begun = 0;

  constructor(parts: StandstillParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#since = undefined;
  }

  /** Undefined while it takes tasks, or would if there were any; and during the first minute. */
  get stall(): WorkerStall | undefined {
    const reason = this.#since === undefined ? undefined : this.#reason();
    const forMs = (this.#ticks - (this.#since ?? 0)) * tickMs;
    if (reason === undefined || forMs < leastMs) return undefined;
    return { workerId: this.#parts.workerId, reason, forMs };
  }

  #tick(): void {
    const { hidden, running, events } = this.#parts;
    if ((this.#ticks * tickMs) % leastMs === 0) void hidden.look();
    this.#ticks += 1;
    const isTaking = running.begun > this.#begun;
    this.#begun = running.begun;
    if (isTaking || this.#reason() === undefined) {
      this.#since = undefined;
      return;
    }
    this.#since ??= this.#ticks;
    const { stall } = this;
    if (stall && stall.forMs % leastMs === 0) events.emit('worker.stalled', stall);
  }

  #reason(): string | undefined {
    const { database, liveness, hidden, outage } = this.#parts;
    if (hidden.found !== undefined) return hidden.found;
    if (!liveness.alive) {
      const why = liveness.failure === undefined ? 'no answer' : errorText(liveness.failure);
      return `others may consider it lost, because its ${liveness.connection} is down: ${why}`;
    }
    if (outage.error !== undefined) return `its statements fail: ${errorText(outage.error)}`;
    return database.apart?.refusal;
  }
}

/**
 * Whether the database keeps rows of the queue from this worker without saying so. It must not claim then: it might not see what is
 * paused, or who has subscribed.
 */
export class HiddenRows {
  readonly #database: Pick<QueueDatabase, 'findHidden'>;
  /** What hides which rows, by the last look; undefined when nothing does. */
  found: string | undefined;

  constructor(database: Pick<QueueDatabase, 'findHidden'>) {
    this.#database = database;
  }

  /** Looks. What cannot be asked stays as it was: whatever is wrong, the worker's own statements meet it too. */
  async look(): Promise<void> {
    this.found = await this.#database.findHidden().catch(() => this.found);
  }
}

/** Whether the statements of a worker fail: an outage is reported once, and its end once. */
export class Outage {
  readonly #workerId: WorkerId;
  readonly #events: QueueEvents;
  /** What failed last, until everything goes well again. */
  error: unknown;
  /** True from a reported failure until the next good statement. */
  #isReported = false;

  constructor(workerId: WorkerId, events: QueueEvents) {
    this.#workerId = workerId;
    this.#events = events;
  }

  /**
   * A statement failed.
   *
   * @param isLost true when its connection is gone, which has an event of its own
   */
  report(error: unknown, isLost: boolean): void {
    this.error = error;
    if (this.#isReported || isLost) return;
    this.#isReported = true;
    this.#events.emit('worker.error', { workerId: this.#workerId, error });
  }

  /** Everything went well. */
  end(): void {
    this.error = undefined;
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#events.emit('worker.recovered', { workerId: this.#workerId });
  }
}
