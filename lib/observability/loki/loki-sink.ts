import { setTimeout as pause } from 'node:timers/promises';
import { Backoff } from '../../timing/backoff.js';
import { within } from '../../timing/deadline.js';
import { errorText } from '../error-text.js';
import type { LogLine } from '../log-line.js';
import type { LogSink } from '../log-sink.js';
import { LineBuffer, type BufferedLine } from './line-buffer.js';
import { lengthOf } from './logfmt.js';
import { LokiClient, type PushBody } from './loki-client.js';
import type { ResolvedLokiOptions } from '../../options/resolve-loki.js';
import { Nanoseconds } from './nanoseconds.js';
import { pushBody } from './push-body.js';

/** What became of the lines for Loki. */
export interface LokiStats {
  /** Lines that Loki took. */
  readonly sent: number;
  /** Lines that were given up: there were too many, Loki refused them, or the process ended. */
  readonly dropped: number;
  /** Lines that wait, those under way included. */
  readonly waiting: number;
  /** About how many bytes these have. */
  readonly waitingBytes: number;
  /** Why Loki takes no lines now; undefined when it does, as far as is known. */
  readonly failure: string | undefined;
}

/** Times that tests shorten. */
export interface LokiTiming {
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
  /** Drops are reported once in this time. */
  readonly reportMs: number;
}

const usualTiming: LokiTiming = { firstRetryMs: 500, longestRetryMs: 30_000, reportMs: 60_000 };
/** Lines that make Loki fail so often in a row are given up: they would hold up all others. */
const mostTries = 10;
const endedReason = 'the process ended';

/**
 * Pushes lines to Loki: in batches, one request at a time, in their order. Writing a line only puts it into a bounded
 * buffer, so that a Loki that is slow, down or wrong costs the queue nothing.
 */
export class LokiSink implements LogSink {
  readonly #options: ResolvedLokiOptions;
  readonly #tell: (line: LogLine) => void;
  readonly #timing: LokiTiming;
  readonly #client: LokiClient;
  readonly #buffer: LineBuffer;
  readonly #times = new Nanoseconds();
  readonly #backoff: Backoff;
  /** Ends a pause between two tries. */
  readonly #hurry = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #underWay: readonly BufferedLine[] = [];
  #closing: Promise<void> | undefined;
  #sent = 0;
  #dropped = 0;
  #reported = 0;
  #dropReason = '';
  #failure: string | undefined;

  /** @param tell takes lines about this sink, and must not give them to it */
  constructor(options: ResolvedLokiOptions, tell: (line: LogLine) => void, timing: Partial<LokiTiming> = {}) {
    this.#options = options;
    this.#tell = tell;
    this.#timing = { ...usualTiming, ...timing };
    this.#client = new LokiClient(options);
    this.#buffer = new LineBuffer({ lines: options.bufferLines, bytes: options.bufferBytes });
    const { firstRetryMs, longestRetryMs } = this.#timing;
    this.#backoff = new Backoff({ firstMs: firstRetryMs, mostMs: longestRetryMs });
  }

  wants(): boolean {
    return true;
  }

  write(line: LogLine): void {
    if (this.#closing) return this.#drop(1, endedReason);
    const dropped = this.#buffer.push({ line, ms: Date.now(), bytes: lengthOf(line) });
    if (dropped > 0) this.#drop(dropped, this.#failure ?? 'they came faster than Loki accepts them');
    if (this.#isFull()) this.#send();
    else this.#schedule();
  }

  stats(): LokiStats {
    const underWayBytes = this.#underWay.reduce((sum, { bytes }) => sum + bytes, 0);
    return {
      sent: this.#sent,
      dropped: this.#dropped,
      waiting: this.#buffer.length + this.#underWay.length,
      waitingBytes: this.#buffer.bytes + underWayBytes,
      failure: this.#failure,
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    // Set before anything is awaited: what is sent from now on is not tried twice.
    await Promise.resolve();
    clearTimeout(this.#timer);
    this.#hurry.abort();
    const sent = this.#sendAll();
    await within(sent, this.#options.flushMs);
    this.#client.abort();
    await sent;
    this.#drop(this.#buffer.clear(), this.#failure ?? endedReason);
    clearTimeout(this.#reportTimer);
    this.#reportDrops();
  }

  async #sendAll(): Promise<void> {
    await this.#sending;
    // Where Loki takes none now, the rest would wait for nothing: it is asked once more.
    do {
      this.#send();
      await this.#sending;
    } while (this.#buffer.length > 0 && this.#failure === undefined);
  }

  #isFull(): boolean {
    const { batchLines, batchBytes } = this.#options;
    return this.#buffer.length >= batchLines || this.#buffer.bytes >= batchBytes;
  }

  #schedule(): void {
    if (this.#timer || this.#sending) return;
    this.#timer = setTimeout(() => this.#send(), this.#options.intervalMs);
    // Lines that wait keep no process alive.
    this.#timer.unref();
  }

  #send(): void {
    if (this.#sending) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sendBatches()
      .catch((error: unknown) => this.#lose(errorText(error)))
      .finally(() => {
        this.#sending = undefined;
        if (this.#buffer.length > 0 && !this.#closing) this.#schedule();
      });
  }

  /** One batch, and more while they are full: what is left waits for others to go with it. */
  async #sendBatches(): Promise<void> {
    const { batchLines, batchBytes, labels } = this.#options;
    do {
      this.#underWay = this.#buffer.take({ lines: batchLines, bytes: batchBytes });
      if (this.#underWay.length === 0) return;
      const isSent = await this.#deliver(
        await this.#client.encode(pushBody(labels, this.#underWay, this.#times)),
      );
      if (!isSent) this.#lose(this.#failure ?? endedReason);
      this.#sent += this.#underWay.length;
      this.#underWay = [];
    } while (this.#isFull() && !this.#closing);
  }

  /** Tries until Loki takes or refuses it. Returns whether it was taken. */
  async #deliver(body: PushBody): Promise<boolean> {
    for (let faults = 0; ;) {
      const result = await this.#client.push(body);
      if (result.outcome === 'accepted') {
        this.#works();
        return true;
      }
      const { reason } = result;
      if (result.outcome === 'refused') {
        this.#fails(reason, `refuses log lines (${reason}): they are dropped`);
        return false;
      }
      this.#fails(
        reason,
        `is not accepting log lines (${reason}): they wait, and the oldest are dropped when too many are waiting`,
      );
      if (result.faulty) faults += 1;
      if (this.#closing || faults >= mostTries) return false;
      await this.#rest(Math.max(result.afterMs ?? 0, this.#backoff.next()));
    }
  }

  async #rest(ms: number): Promise<void> {
    await pause(ms, undefined, { ref: false, signal: this.#hurry.signal }).catch(() => undefined);
  }

  /** Says so once, until it works again. */
  #fails(reason: string, what: string): void {
    const isNew = this.#failure === undefined;
    this.#failure = reason;
    if (isNew) this.#say('warn', `Loki at ${this.#options.address.shown} ${what}`);
  }

  #works(): void {
    this.#backoff.reset();
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#say('log', `Loki at ${this.#options.address.shown} accepts log lines again`);
  }

  /** Gives up what is under way. */
  #lose(reason: string): void {
    this.#drop(this.#underWay.length, reason);
    this.#underWay = [];
  }

  #drop(lines: number, reason: string): void {
    if (lines === 0) return;
    this.#dropped += lines;
    this.#dropReason = reason;
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = undefined;
      this.#reportDrops();
    }, this.#timing.reportMs).unref();
  }

  #reportDrops(): void {
    const lines = this.#dropped - this.#reported;
    this.#reported = this.#dropped;
    if (lines === 0) return;
    this.#say('warn', `${lines} log lines did not reach Loki: ${this.#dropReason}`, { lines });
  }

  #say(level: 'warn' | 'log', text: string, fields = {}): void {
    this.#tell({ level, component: 'logs', text, fields: { ...fields, dropped: this.#dropped } });
  }
}
