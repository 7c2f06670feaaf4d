import type { HandlerKind, Surroundings } from '../protocol.js';

/** What producing used. */
export interface Produced {
  readonly tasks: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** When the first insert was called, by `monotonicMs()`. */
  readonly begunAtMs: number;
  readonly peakRssBytes: number;
}

/** What working used: from the first handler's start on, or from the start of the worker while none has started. */
export interface Worked {
  readonly started: number;
  /** By `monotonicMs()`. */
  readonly firstAtMs: number | undefined;
  readonly cpuSeconds: number;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** How late the event loop was: from the first handler's start on, or from the last `watchLoop`. */
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  /** Ms from insertion to the handler's start, where payloads tell; in the order of the starts. */
  readonly waitsMs: readonly number[];
}

/** What the benchmark asks of a child process. */
export interface ChildCalls {
  /** Loads an adapter; the first call. */
  open(adapter: string, surroundings: Surroundings): Promise<void>;
  setup(): Promise<void>;
  /** Inserts so many tasks in batches, spread over the topics. */
  fill(tasks: number, topic?: string): Promise<Produced>;
  /** Inserts one at a time for so long; `within`: each in a transaction that also inserts a row of the user's. */
  enqueueSingly(connections: number, seconds: number, within: boolean): Promise<Produced>;
  enqueueBatches(size: number, tasks: number): Promise<Produced>;
  /** Inserts one at a time at an even pace, after one that is not timed. */
  enqueueEvenly(perSecond: number, seconds: number, topic?: string): Promise<Produced>;
  /** Keeps at most `most` tasks waiting, until `stopSustaining`. */
  sustain(most: number): Promise<void>;
  /** Tells what workers have started so far. */
  consumed(count: number): Promise<void>;
  stopSustaining(): Promise<void>;
  subscribe(count: number): Promise<void>;
  /** Publishes so often; returns how many ms passed until every subscription had its deliveries. */
  publish(times: number): Promise<number>;
  /** Deletes all history that is old enough; returns how many rows. */
  purge(): Promise<number>;
  views(): Promise<Readonly<Record<string, number>>>;
  /** Waits until nothing is left to do; returns when that was, or undefined after `limitMs`. */
  waitUntilDone(limitMs: number): Promise<number | undefined>;
  /** Starts working. After `target` starts of handlers it tells at once, else every 10 ms; `children` as in `Adapter.work`. */
  work(kind: HandlerKind, target: number, children?: number): Promise<void>;
  /** Answers HTTP requests at the port that it returns. */
  serve(): Promise<number>;
  /** Forgets how late the event loop was so far. */
  watchLoop(): Promise<void>;
  worked(): Promise<Worked>;
}

/** A call on its way to the child. */
export interface CallMessage {
  readonly id: number;
  readonly method: keyof ChildCalls;
  readonly args: readonly unknown[];
}

/** What the child sends: the answer to a call, or by itself how many handlers have started. */
export type ChildMessage =
  { readonly id: number; readonly result?: unknown; readonly error?: string } | { readonly started: number };
