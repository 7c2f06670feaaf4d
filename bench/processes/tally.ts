import { monitorEventLoopDelay } from 'node:perf_hooks';
import { monotonicMs, type Payload } from '../protocol.js';
import type { Worked } from './child-calls.js';
import { peakRssBytes } from './peak-memory.js';

/** How often the event loop is looked at, in ms: what it is told counts from then. */
const loopResolutionMs = 10;

/** Counts the handlers that start in this process, at next to no cost per task. */
export class Tally {
  #started = 0;
  #firstAtMs: number | undefined;
  #cpuAtStart = process.cpuUsage();
  readonly #loop = monitorEventLoopDelay({ resolution: loopResolutionMs });
  readonly #waitsMs: number[] = [];
  readonly #target: number;
  readonly #tell: (started: number) => void;

  /** @param tell called as soon as `target` handlers have started */
  constructor(target: number, tell: (started: number) => void) {
    this.#target = target;
    this.#tell = tell;
    this.#loop.enable();
  }

  get started(): number {
    return this.#started;
  }

  readonly start = (payload: Payload): void => {
    this.#started += 1;
    if (this.#started === 1) {
      this.#firstAtMs = monotonicMs();
      this.#cpuAtStart = process.cpuUsage();
      this.watchLoop();
    }
    if (payload.at !== undefined) this.#waitsMs.push(monotonicMs() - payload.at);
    if (this.#started === this.#target) this.#tell(this.#started);
  };

  watchLoop(): void {
    this.#loop.reset();
  }

  worked(): Worked {
    const { user, system } = process.cpuUsage(this.#cpuAtStart);
    return {
      started: this.#started,
      firstAtMs: this.#firstAtMs,
      cpuSeconds: (user + system) / 1e6,
      rssBytes: process.memoryUsage.rss(),
      peakRssBytes: peakRssBytes(),
      loopP99Ms: loopDelayMs(this.#loop.percentile(99)),
      loopMaxMs: loopDelayMs(this.#loop.max),
      waitsMs: this.#waitsMs,
    };
  }
}

/** From nanoseconds between two looks, of which the first is on time. */
function loopDelayMs(betweenNs: number): number {
  return Math.max(0, betweenNs / 1e6 - loopResolutionMs);
}
