import type { Liveness } from '../coordination/liveness.js';
import type { QueueEvents } from '../events.js';
import { errorText } from '../observability/error-text.js';
import type { WorkerId } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerStall } from '../storage/status-report.js';
import type { HiddenRows } from './hidden-rows.js';
import type { RunningTasks } from './running/running-tasks.js';
import type { Trouble } from './trouble.js';

export interface StandstillParts {
  readonly workerId: WorkerId;
  readonly database: Pick<QueueDatabase, 'apart'>;
  readonly liveness: Pick<Liveness, 'alive' | 'connection' | 'failure'>;
  readonly hidden: HiddenRows;
  readonly trouble: Pick<Trouble, 'error'>;
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
    const { database, liveness, hidden, trouble } = this.#parts;
    if (hidden.found !== undefined) return hidden.found;
    if (!liveness.alive) {
      const why = liveness.failure === undefined ? 'no answer' : errorText(liveness.failure);
      return `others may take it for lost, because its ${liveness.connection} is down: ${why}`;
    }
    if (trouble.error !== undefined) return `its statements fail: ${errorText(trouble.error)}`;
    return database.apart?.refusal;
  }
}
