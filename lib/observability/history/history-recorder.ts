import type { SqlHandle } from '../../storage/sql-handle.js';
import type { QueueEvents } from '../../events.js';
import type { QueueTables } from '../../storage/postgres/identifiers.js';
import {
  addHistory,
  foldHistory,
  forgetHistory,
  measureAttempts,
  noteLag,
  takeMinute,
} from '../../storage/postgres/statements/history.js';
import { histogramOf } from './histogram.js';
import { OutcomeTally, type RouteTally } from './outcome-tally.js';

/** What a {@link HistoryRecorder} works with. */
export interface HistoryRecorderParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  readonly events: QueueEvents;
  /** How long the oldest pending task has waited, in ms. */
  readonly readLag: () => Promise<number>;
}

/** How often what ended is written down. */
const everyMs = 15_000;

/** Durations of one attempt, by its id. */
interface Measured {
  readonly waitMs: number;
  readonly runMs: number;
}

/**
 * Writes down what ended in this process, four times a minute: counts are exact, durations are those of a sample. Where
 * nothing has ended nothing is sent. Whoever reads the charts reads this small table, never the queue.
 */
export class HistoryRecorder {
  readonly tally = new OutcomeTally();
  readonly #parts: HistoryRecorderParts;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #hasWarned = false;

  constructor(parts: HistoryRecorderParts) {
    this.#parts = parts;
    this.tally.listen(parts.events);
    parts.events.on('worker.started', () => this.#start());
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
    await this.#look().catch((error: unknown) => this.#warn(error));
  }

  async #add(taken: readonly RouteTally[]): Promise<void> {
    const { handle, tables } = this.#parts;
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
    await handle.query(addHistory(tables), [JSON.stringify(rows)]);
  }

  async #measure(ids: readonly string[]): Promise<ReadonlyMap<string, Measured>> {
    if (ids.length === 0) return new Map();
    const { handle, tables } = this.#parts;
    const { rows } = await handle.query(measureAttempts(tables), [ids]);
    return new Map(
      rows.map((row) => [
        String(row['id']),
        { waitMs: Number(row['wait_ms']), runMs: Number(row['run_ms']) },
      ]),
    );
  }

  /** Once a minute in which something ended, one process of all looks how long tasks wait, puts old minutes together and forgets older ones. */
  async #look(): Promise<void> {
    const { handle, tables, readLag } = this.#parts;
    const [turn] = (await handle.query(takeMinute(tables), [])).rows;
    if (!turn) return;
    await handle.query(noteLag(tables), [turn['at'], await readLag()]);
    await handle.query(foldHistory(tables), []);
    await handle.query(forgetHistory(tables), []);
  }

  /** Charts are a help; that they have a gap is said once. */
  #warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#parts.events.emit('warning', {
      message: `what ended could not be written down for the charts: ${String(error)}. It is tried again`,
    });
  }
}
