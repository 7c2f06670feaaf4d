import type { QueueEventMap, QueueEventName, QueueEvents } from '../events.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { cleanText } from './clean-text.js';
import { DiscardedLines } from './discarded-lines.js';
import { detailLines, eventLines } from './event-lines.js';
import type { LogFields, LogLine } from './log-line.js';
import type { LogSink } from './log-sink.js';
import type { LokiSink, LokiStats } from './loki/loki-sink.js';
import { NestLogSink } from './nest-log-sink.js';
import { TaskClock } from './task-clock.js';

const longestText = 2_000;
const longestField = 500;

type AnyEvent = QueueEventMap[QueueEventName];
type MakeLine = (event: AnyEvent) => LogLine;

/** What became of the lines of a queue's log. */
export interface LogStats {
  /** Undefined where no lines go to Loki. */
  readonly loki: LokiStats | undefined;
}

/**
 * The log of a queue: it turns events into lines and hands them to Nest's logger, and to Loki where that is set.
 *
 * @example const { loki } = app.get(QueueLogs).stats();
 */
export class QueueLogs {
  readonly #workers = new Set<string>();
  #queue = '';
  #clock: TaskClock | undefined;
  #sinks: readonly LogSink[] = [];
  #loki: LokiSink | undefined;
  readonly #discarded = new DiscardedLines((line) => this.#write(this.#sinks, line, 'publication.discarded'));

  /** Lines that were sent to Loki, that wait, and that were dropped. */
  stats(): LogStats {
    return { loki: this.#loki?.stats() };
  }

  /**
   * @internal
   * @param makeLoki makes the sink for Loki, which tells what becomes of its lines by what it is given
   */
  start(
    events: QueueEvents,
    { queue, logDebug }: Pick<ResolvedOptions, 'queue' | 'logDebug'>,
    makeLoki?: (report: (line: LogLine) => void) => LokiSink,
  ): void {
    this.#queue = queue;
    const nest = new NestLogSink(queue);
    this.#loki = makeLoki?.((line) => this.#write([nest], line));
    this.#sinks = this.#loki ? [nest, this.#loki] : [nest];
    // Without it no listener needs events of single tasks, and the worker makes none.
    if (logDebug) this.#clock = new TaskClock();
    const names = [...Object.keys(eventLines), ...(logDebug ? Object.keys(detailLines) : [])];
    this.#discarded.listen(events);
    for (const name of new Set(names as QueueEventName[])) this.#listen(events, name);
  }

  /** @internal Writes out what is left, within a few seconds. Idempotent. */
  async close(): Promise<void> {
    this.#discarded.close();
    for (const sink of this.#sinks) await sink.close();
  }

  #listen(events: QueueEvents, name: QueueEventName): void {
    const told = eventLines[name] as MakeLine | undefined;
    const detailed = this.#clock && (detailLines[name] as MakeLine | undefined);
    events.on(name, (event) => {
      if (name === 'worker.started') this.#workers.add((event as { workerId: string }).workerId);
      const durationMs = this.#clock && timed(this.#clock, name, event);
      if (told) this.#write(this.#sinks, told(event), name, durationMs);
      if (detailed && this.#sinks.some((sink) => sink.wants('debug'))) {
        this.#write(this.#sinks, detailed(event), name, durationMs);
      }
      if (name === 'worker.stopped') this.#workers.delete((event as { workerId: string }).workerId);
    });
  }

  /** A sink that fails keeps no other from its line. */
  #write(sinks: readonly LogSink[], line: LogLine, event?: string, durationMs?: number): void {
    const { level, component, text, stack } = line;
    const fields: Record<string, string | number | boolean> = {};
    if (event !== undefined) fields['event'] = event;
    fields['queue'] = this.#queue;
    fields['component'] = component;
    // Of several, a line names the one that its event names: any other would be a guess.
    const [worker, ...others] = this.#workers;
    if (worker !== undefined && others.length === 0) fields['workerId'] = worker;
    addClean(fields, line.fields);
    if (durationMs !== undefined) fields['durationMs'] = durationMs;
    const whole: LogLine = { level, component, text: cleanText(text, longestText), fields, stack };
    for (const sink of sinks) {
      try {
        if (sink.wants(level)) sink.write(whole);
      } catch {
        // No sink is left to report this to.
      }
    }
  }
}

/** Starts or stops the clock of the attempt that an event is about; returns how long it took. */
function timed(clock: TaskClock, name: QueueEventName, event: AnyEvent): number | undefined {
  if (!('task' in event)) return undefined;
  const { id } = event.task;
  if (name !== 'task.claimed') return clock.stop(id);
  clock.start(id);
  return undefined;
}

/** Lines of every task come through here: it makes nothing that it does not keep. */
function addClean(to: Record<string, string | number | boolean>, fields: LogFields): void {
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || value === null) continue;
    to[name] = typeof value === 'string' ? cleanText(value, longestField) : value;
  }
}
