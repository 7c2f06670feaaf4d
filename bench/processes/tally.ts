import { monotonicMs, type Payload } from '../protocol.js';
import type { Worked } from './child-calls.js';
import { peakRssBytes } from './peak-memory.js';

/** Counts the handlers that start in this process, at next to no cost per task. */
export class Tally {
  #started = 0;
  #firstAtMs: number | undefined;
  #cpuAtStart = process.cpuUsage();
  readonly #waitsMs: number[] = [];
  readonly #target: number;
  readonly #tell: (started: number) => void;

  /** @param tell called as soon as `target` handlers have started */
  constructor(target: number, tell: (started: number) => void) {
    this.#target = target;
    this.#tell = tell;
  }

  get started(): number {
    return this.#started;
  }

  readonly start = (payload: Payload): void => {
    this.#started += 1;
    if (this.#started === 1) {
      this.#firstAtMs = monotonicMs();
      this.#cpuAtStart = process.cpuUsage();
    }
    if (payload.at !== undefined) this.#waitsMs.push(monotonicMs() - payload.at);
    if (this.#started === this.#target) this.#tell(this.#started);
  };

  worked(): Worked {
    const { user, system } = process.cpuUsage(this.#cpuAtStart);
    return {
      started: this.#started,
      firstAtMs: this.#firstAtMs,
      cpuSeconds: (user + system) / 1e6,
      rssBytes: process.memoryUsage.rss(),
      peakRssBytes: peakRssBytes(),
      waitsMs: this.#waitsMs,
    };
  }
}
