import { randomBytes } from 'node:crypto';
import type { ClientBase } from 'pg';

/** What every queue carries: about 60 bytes as JSON. */
export interface Payload {
  readonly i: number;
  readonly s: string;
  /** When it was inserted, by `monotonicMs()`; only where the wait is measured. */
  readonly at?: number;
}

/**
 * What the handler does. `empty`: nothing. `write`: inserts one row, in one commit with the task's completion.
 * `write-apart`: inserts one row in a commit of its own. `fail-once`: throws at the first attempt. `slow`: waits 50 ms.
 * `compute`, `compute-long`: keep a processor busy for some 20 ms, and for some 5 s.
 */
export type HandlerKind =
  'empty' | 'write' | 'write-apart' | 'fail-once' | 'slow' | 'compute' | 'compute-long';

/** How long handlers of the kind `slow` wait. */
export const slowMs = 50;

const roundsOf20Ms = 15_000_000;

/** Keeps a processor busy: with the same work everywhere, whatever else runs meanwhile. */
export function compute(kind: 'compute' | 'compute-long'): number {
  const rounds = kind === 'compute' ? roundsOf20Ms : 250 * roundsOf20Ms;
  let value = 1;
  for (let round = 0; round < rounds; round += 1) value = (Math.imul(value, 1_664_525) + 1_013_904_223) | 0;
  return value;
}

/** What an adapter is told about the measurement. */
export interface Surroundings {
  /** Address of an empty database of its own. */
  readonly database: string;
  readonly redisPort: number | undefined;
  /** Which of the adapter's settings: `default`, `tuned`, … */
  readonly setting: string;
  /** Tasks are spread over so many topics, where the queue has topics. */
  readonly topics: number;
  /** Length of every payload as JSON; about 60 bytes without it. */
  readonly payloadBytes?: number;
  /** Address of what wakes workers besides the database, for this library: `tcp://…`, `redis://…`, `nats://…`. */
  readonly bell?: string | undefined;
}

/** Inserts tasks. */
export interface Producer {
  one(payload: Payload, topic?: string): Promise<unknown>;
  many(payloads: readonly Payload[], topic?: string): Promise<unknown>;
  /** Inserts one as part of the transaction that is open on `client`; missing where the queue cannot. */
  within?(client: ClientBase, payload: Payload): Promise<unknown>;
  close(): Promise<void>;
}

/** One queue under one setting: all that the benchmark knows about it. */
export interface Adapter {
  /** Makes an empty queue. */
  setup(): Promise<void>;
  /** Opens what inserts, with at most so many connections. */
  producer(connections: number): Promise<Producer>;
  /**
   * Starts working; `started` is to be called first thing in every handler, and by settings whose handlers run in threads or
   * processes when a task has ended.
   *
   * @param children how many threads or processes handlers run in; without it as many as leave a processor to the event loop
   */
  work(kind: HandlerKind, started: (payload: Payload) => void, children?: number): Promise<void>;
  /** Whether nothing waits, runs or is to be retried any more, as the database or Redis sees it. */
  isDone(): Promise<boolean>;
  /** Adds subscriptions of one topic; only for queues that fan out by themselves. */
  subscribe?(count: number): Promise<void>;
  /** Publishes so often and waits until every subscription has its deliveries. */
  publish?(times: number): Promise<void>;
  /** Deletes all history that is old enough; returns how many rows. */
  purge?(): Promise<number>;
  /** How long each view of its dashboard takes, by the names of figures. */
  views?(): Promise<Readonly<Record<string, number>>>;
}

/** The one export of an adapter's module. */
export type OpenAdapter = (surroundings: Surroundings) => Adapter;

/** Inserted by handlers of the kinds `write` and `write-apart`. */
export const insertEffect = 'insert into effect (task) values ($1)';

/** Milliseconds of a clock that all processes of this machine share and nobody sets. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

const filler = 'x'.repeat(40);
let longFiller = '';

/**
 * The payload of the task number `i`.
 *
 * @param bytes its length as JSON; what fills it cannot be compressed by PostgreSQL
 */
export function makePayload(i: number, bytes?: number): Payload {
  if (bytes === undefined) return { i, s: filler };
  if (longFiller.length < bytes) longFiller = randomBytes(bytes).toString('base64');
  return { i, s: longFiller.slice(0, bytes - JSON.stringify({ i, s: '' }).length) };
}

/** The same with the moment of its insertion. */
export function makeTimedPayload(i: number): Payload {
  return { i, at: monotonicMs(), s: 'x'.repeat(18) };
}
