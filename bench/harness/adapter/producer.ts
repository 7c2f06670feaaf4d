import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { currentRate, type AdapterSettings } from './adapter-settings.js';
import { Credit } from './credit.js';
import type { HarnessedQueue, Job } from './harnessed-queue.js';
import type { Progress } from './progress.js';

/** What a payload is without its padding. */
const bareBytes = 60;
/** After an insert that failed, because the server is away or cuts connections. */
const retryPauseMs = 200;

/** Inserts jobs, as the harness offers them, until it is stopped. */
export class Producer {
  readonly #queue: HarnessedQueue;
  readonly #settings: AdapterSettings;
  readonly #progress: Progress;
  readonly #log: (line: string) => void;
  readonly #stopping = new AbortController();
  readonly #padding: string;
  #seq = 0;
  #batches = 0;
  #running: Promise<void> | undefined;
  #tokens: ReturnType<typeof createInterface> | undefined;

  constructor(
    queue: HarnessedQueue,
    settings: AdapterSettings,
    progress: Progress,
    log: (line: string) => void,
  ) {
    this.#queue = queue;
    this.#settings = settings;
    this.#progress = progress;
    this.#log = log;
    this.#padding = 'x'.repeat(Math.max(0, settings.payloadBytes - bareBytes));
  }

  /** @param input where the harness sends its tokens */
  start(input: Readable): void {
    const { producerMode, pacing } = this.#settings;
    if (producerMode === 'depth-target') this.#running = this.#keepDepth();
    else this.#running = pacing === 'harness' ? this.#followTokens(input) : this.#followClock();
  }

  /** Resolves when the insert that is on its way has been answered. May be called again. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#tokens?.close();
    await this.#running;
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #followClock(): Promise<void> {
    const { batchMax, batchMs } = this.#settings;
    const credit = new Credit(performance.now());
    while (!this.#stopped) {
      credit.earn(performance.now(), currentRate(this.#settings));
      const jobs = credit.take(batchMax);
      if (jobs === 0) await this.#pause(batchMs);
      else if (!(await this.#insert(jobs))) credit.giveBack(jobs);
    }
  }

  async #followTokens(input: Readable): Promise<void> {
    this.#tokens = createInterface({ input });
    for await (const line of this.#tokens) {
      const jobs = Number(/^ENQUEUE (\d+)$/.exec(line.trim())?.[1] ?? 0);
      if (jobs > 0) await this.#insertAtLast(jobs);
      if (this.#stopped) return;
    }
  }

  async #keepDepth(): Promise<void> {
    const { batchMax, batchMs, targetDepth } = this.#settings;
    while (!this.#stopped) {
      const depth = await this.#queue.depth().catch(() => targetDepth);
      this.#progress.depth = depth;
      const jobs = Math.min(batchMax, targetDepth - depth);
      if (jobs > 0) await this.#insert(jobs);
      else await this.#pause(batchMs);
    }
  }

  /** A token is offered once: it is inserted as soon as that is possible. */
  async #insertAtLast(jobs: number): Promise<void> {
    while (!this.#stopped) {
      if (await this.#insert(jobs)) return;
    }
  }

  /** Whether the jobs were inserted. A lost connection is no reason to end: what the phases break comes back. */
  async #insert(count: number): Promise<boolean> {
    const jobs = Array.from({ length: count }, (): Job => {
      this.#seq += 1;
      return { seq: this.#seq, insertedAtMs: Date.now(), padding: this.#padding };
    });
    // In turn, whatever the sizes of the batches.
    this.#batches += 1;
    try {
      await this.#queue.insert(jobs, this.#batches % this.#settings.queueCount);
      this.#progress.enqueued += count;
      return true;
    } catch (error) {
      this.#log(`insert failed: ${error instanceof Error ? error.message : String(error)}`);
      await this.#pause(retryPauseMs);
      return false;
    }
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}
