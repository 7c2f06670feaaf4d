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
 */
export type HandlerKind = 'empty' | 'write' | 'write-apart' | 'fail-once' | 'slow';

/** How long handlers of the kind `slow` wait. */
export const slowMs = 50;

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
  /** Starts working; `started` is to be called first thing in every handler. */
  work(kind: HandlerKind, started: (payload: Payload) => void): Promise<void>;
  /** Whether nothing waits, runs or is to be retried any more, as the database or Redis sees it. */
  isDone(): Promise<boolean>;
  /** Adds subscriptions of one topic; only for queues that fan out by themselves. */
  subscribe?(count: number): Promise<void>;
  /** Publishes so often and waits until every subscription has its deliveries. */
  publish?(times: number): Promise<void>;
  /** Deletes all history that is old enough; answers how many rows. */
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
