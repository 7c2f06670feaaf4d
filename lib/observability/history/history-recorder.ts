import type { QueueEvents } from '../../events.js';
import type { MeasuredAttempt } from '../../storage/history.js';
import type { QueueReports } from '../../storage/reports.js';
import { histogramOf } from '../../values/histogram.js';
import { OutcomeTally, type RouteTally } from './outcome-tally.js';

/** How often what ended is written down. */
const everyMs = 15_000;

/**
 * Writes down what ended in this process, four times a minute: counts are exact, durations are those of a sample. Where
 * nothing has ended nothing is sent. Charts read this small table, never the queue.
 */
export class HistoryRecorder {
  readonly tally = new OutcomeTally();
  readonly #reports: Pick<QueueReports, 'measure' | 'addHistory' | 'condenseHistory'>;
  readonly #events: QueueEvents;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #hasWarned = false;

  constructor(
    reports: Pick<QueueReports, 'measure' | 'addHistory' | 'condenseHistory'>,
    events: QueueEvents,
  ) {
    this.#reports = reports;
    this.#events = events;
    this.tally.listen(events);
    events.on('worker.started', () => this.#start());
  }

  /** Writes what there is. What cannot be written now is kept for the next time. */
  flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Writes the rest. */
  async close(): Promise<void> {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    await this.#writing;
    await this.flush();
  }

  #start(): void {
    this.#timer ??= setInterval(() => void this.flush(), everyMs).unref();
  }

  async #write(): Promise<void> {
    const taken = this.tally.take();
    // An idle worker sends nothing: where nothing ends, the charts have nothing to show.
    if (taken.length === 0) return;
    try {
      await this.#add(taken);
    } catch (error) {
      this.tally.putBack(taken);
      this.#warn(error);
      return;
    }
    await this.#reports.condenseHistory().catch((error: unknown) => this.#warn(error));
  }

  async #add(taken: readonly RouteTally[]): Promise<void> {
    const measured = await this.#measure(taken.flatMap(({ sample }) => sample));
    const rows = taken.map(({ sample, ...counts }) => {
      const times = sample.map((id) => measured.get(id)).filter((one) => one !== undefined);
      // Each of the sample stands for as many as there were in all.
      const weight = (counts.succeeded + counts.failed) / Math.max(1, times.length);
      const histogram = (durations: readonly number[]) => histogramOf(durations, weight);
      return {
        ...counts,
        waits: histogram(times.map(({ waitMs }) => waitMs)),
        runs: histogram(times.map(({ runMs }) => runMs)),
      };
    });
    await this.#reports.addHistory(rows);
  }

  async #measure(ids: readonly string[]): Promise<ReadonlyMap<string, MeasuredAttempt>> {
    return ids.length === 0 ? new Map() : this.#reports.measure(ids);
  }

  /** Charts are a help; that they have a gap is said once. */
  #warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#events.emit('warning', {
      message: `could not save task statistics (${String(error)}); will retry`,
    });
  }
}
