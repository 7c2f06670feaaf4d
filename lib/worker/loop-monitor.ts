import { reference, type QueueEvents } from '../events.js';
import type { WorkerOptions } from '../options/worker-options.js';
import type { WorkerId } from '../storage/attempt.js';
import type { Capacity } from './claiming/routes.js';
import type { Dispatcher } from './dispatcher.js';
import { HandlerContext } from './running/handler-context.js';
import type { RunningTask } from './running/running-tasks.js';

/** Between two looks at the clock. */
const tickMs = 50;
/** Of so many looks delays are kept: those of a minute. */
const keptLooks = 60_000 / tickMs;
/** Between two events: a handler that blocks with each of its tasks would fill the log. */
const quietMs = 10_000;

/** How late the event loop of a worker's process was in the last minute, and what the worker made of it. */
export interface LoopDelay {
  /** So late it was at most, but for the latest one percent of the times, in ms. */
  readonly p99Ms: number;
  /** So late it was at worst, in ms. */
  readonly maxMs: number;
  /** How often claims have paused since the start, because it was late (`pauseWhileBlocked`). */
  readonly pauses: number;
}

/**
 * Notices that the event loop has stood still, and names the handlers that ran meanwhile: one of them computes, or waits
 * synchronously.
 */
export class LoopMonitor {
  readonly #workerId: WorkerId;
  readonly #dispatcher: Pick<Dispatcher, 'running' | 'wake'>;
  readonly #capacity: Pick<Capacity, 'isPaused'>;
  readonly #options: Pick<WorkerOptions, 'maxLoopDelayMs' | 'pauseWhileBlocked'>;
  readonly #events: QueueEvents;
  #timer: NodeJS.Timeout | undefined;
  #lastAt = 0;
  #toldAt = -Infinity;
  readonly #delays: number[] = [];
  #looks = 0;
  #pauses = 0;

  constructor(
    workerId: WorkerId,
    dispatcher: Pick<Dispatcher, 'running' | 'wake'>,
    capacity: Pick<Capacity, 'isPaused'>,
    options: Pick<WorkerOptions, 'maxLoopDelayMs' | 'pauseWhileBlocked'>,
    events: QueueEvents,
  ) {
    this.#workerId = workerId;
    this.#dispatcher = dispatcher;
    this.#capacity = capacity;
    this.#options = options;
    this.#events = events;
  }

  /** Undefined before its first look, and where it does not look (`maxLoopDelayMs: 0`). */
  get delay(): LoopDelay | undefined {
    const sorted = this.#delays.toSorted((one, other) => one - other);
    const maxMs = sorted.at(-1);
    if (maxMs === undefined) return undefined;
    const p99Ms = sorted[Math.ceil(sorted.length * 0.99) - 1] ?? maxMs;
    return { p99Ms, maxMs, pauses: this.#pauses };
  }

  start(): void {
    if (this.#options.maxLoopDelayMs === 0) return;
    this.#lastAt = performance.now();
    this.#dispatcher.running.takeEnded();
    this.#timer = setInterval(() => this.#tick(), tickMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const now = performance.now();
    const ended = this.#dispatcher.running.takeEnded();
    const blockedMs = now - this.#lastAt - tickMs;
    this.#lastAt = now;
    this.#delays[this.#looks % keptLooks] = Math.max(0, Math.round(blockedMs));
    this.#looks += 1;
    const isBlocked = blockedMs > this.#options.maxLoopDelayMs;
    if (isBlocked && now - this.#toldAt >= quietMs) {
      this.#tell(blockedMs, [...ended, ...this.#dispatcher.running.all()], now);
    }
    const wasPaused = this.#capacity.isPaused;
    this.#capacity.isPaused = isBlocked && this.#options.pauseWhileBlocked;
    if (!wasPaused && this.#capacity.isPaused) this.#pauses += 1;
    if (wasPaused && !this.#capacity.isPaused) this.#dispatcher.wake();
  }

  /** Without a handler that runs here something else of the process has blocked it, such as its start. */
  #tell(blockedMs: number, ran: readonly RunningTask[], now: number): void {
    const inline = ran.filter(({ context }) => context instanceof HandlerContext);
    if (inline.length === 0) return;
    this.#toldAt = now;
    const tasks = inline.map(({ claimed }) => reference(claimed));
    this.#events.emit('loop.blocked', {
      workerId: this.#workerId,
      blockedMs: Math.round(blockedMs),
      tasks,
    });
  }
}
