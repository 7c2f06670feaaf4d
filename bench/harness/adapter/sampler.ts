import { setTimeout as pause } from 'node:timers/promises';
import { currentRate, type AdapterSettings } from './adapter-settings.js';
import { windowSeconds, type Progress } from './progress.js';
import type { Metric, SampleRecord } from './records.js';

/** Tells the figures of one adapter at every boundary of the wall clock, so that those of all replicas line up. */
export class Sampler {
  readonly #system: string;
  readonly #settings: AdapterSettings;
  readonly #progress: Progress;
  readonly #write: (record: SampleRecord) => void;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #last = { atMs: performance.now(), enqueued: 0, completed: 0 };

  constructor(
    system: string,
    settings: AdapterSettings,
    progress: Progress,
    write: (record: SampleRecord) => void,
  ) {
    this.#system = system;
    this.#settings = settings;
    this.#progress = progress;
    this.#write = write;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Tells what has happened since the last boundary, and ends. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    await this.#running;
    this.#sample();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const everyMs = this.#settings.sampleEverySeconds * 1_000;
    while (!signal.aborted) {
      await pause(everyMs - (Date.now() % everyMs), undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) this.#sample();
    }
  }

  #sample(): void {
    const { claims, wholes, depth, enqueued, completed } = this.#progress;
    const { sampleEverySeconds, instanceId } = this.#settings;
    const atMs = performance.now();
    // By the time that has really passed: a tick may be late.
    const perSecond = (count: number): number => (count * 1_000) / Math.max(1, atMs - this.#last.atMs);
    const figures: [Metric, number, number][] = [
      ['claim_p50_ms', claims.at(atMs, 0.5), windowSeconds],
      ['claim_p95_ms', claims.at(atMs, 0.95), windowSeconds],
      ['claim_p99_ms', claims.at(atMs, 0.99), windowSeconds],
      ['end_to_end_p99_ms', wholes.at(atMs, 0.99), windowSeconds],
      ['enqueue_rate', perSecond(enqueued - this.#last.enqueued), sampleEverySeconds],
      ['completion_rate', perSecond(completed - this.#last.completed), sampleEverySeconds],
    ];
    if (instanceId === 0) {
      figures.push(['queue_depth', depth, 0], ['producer_target_rate', currentRate(this.#settings), 0]);
    }
    this.#last = { atMs, enqueued, completed };
    const t = new Date().toISOString();
    const common = { kind: 'adapter', t, system: this.#system, instance_id: instanceId } as const;
    for (const [metric, value, window_s] of figures) {
      this.#write({ ...common, subject_kind: 'adapter', subject: '', metric, value, window_s });
    }
  }
}
