import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import {
  insertEffect,
  makePayload,
  makeTimedPayload,
  monotonicMs,
  type Adapter,
  type Payload,
  type Producer,
  type Surroundings,
} from '../protocol.js';
import type { Produced } from './child-calls.js';
import { peakRssBytes } from './peak-memory.js';

const fillConnections = 4;
const fillBatch = 1_000;
/** Where payloads are long. */
const longFillBatch = 100;
const sustainedBatch = 500;
const warmUpMs = 500;

/** Inserts tasks through an adapter in the ways that the scenarios need. */
export class Production {
  readonly #adapter: Adapter;
  readonly #database: string;
  readonly #payloadBytes: number | undefined;
  #consumed = 0;
  #sustaining: Promise<void> | undefined;
  #stopping = false;

  constructor(adapter: Adapter, { database, payloadBytes }: Surroundings) {
    this.#adapter = adapter;
    this.#database = database;
    this.#payloadBytes = payloadBytes;
  }

  async fill(tasks: number, topic?: string): Promise<Produced> {
    const batch = this.#payloadBytes === undefined ? fillBatch : longFillBatch;
    return this.#with(fillConnections, (producer) =>
      measure(async () => {
        let next = 0;
        await atOnce(fillConnections, async () => {
          while (next < tasks) {
            const first = next;
            next = Math.min(tasks, first + batch);
            await producer.many(this.#makePayloads(first, next - first), topic);
          }
        });
        return tasks;
      }),
    );
  }

  async enqueueSingly(connections: number, seconds: number, within: boolean): Promise<Produced> {
    return this.#with(connections, async (producer) => {
      const insert = within ? await this.#insertWithin(producer, connections) : inserting(producer);
      try {
        // So that connecting and preparing are not measured.
        await atOnce(connections, () => insert.one(this.#makePayload(0)));
        let tasks = 0;
        return await measure(async (begun) => {
          const until = begun + seconds * 1_000;
          await atOnce(connections, async () => {
            while (monotonicMs() < until) {
              await insert.one(this.#makePayload(tasks));
              tasks += 1;
            }
          });
          return tasks;
        });
      } finally {
        await insert.close();
      }
    });
  }

  async enqueueBatches(size: number, tasks: number): Promise<Produced> {
    return this.#with(1, async (producer) => {
      await producer.many(this.#makePayloads(0, 1));
      return measure(async () => {
        for (let first = 0; first < tasks; first += size) {
          await producer.many(this.#makePayloads(first, size));
        }
        return tasks;
      });
    });
  }

  async enqueueEvenly(perSecond: number, seconds: number, topic?: string): Promise<Produced> {
    return this.#with(fillConnections, async (producer) => {
      const count = Math.round(perSecond * seconds);
      // The first insert connects and prepares; a burst behind it would not be an even pace.
      await producer.one(this.#makePayload(0), topic);
      await pause(warmUpMs);
      return measure(async (begun) => {
        const answers: Promise<unknown>[] = [];
        for (let index = 0; index < count; index += 1) {
          const wait = begun + (index * 1_000) / perSecond - monotonicMs();
          if (wait > 0.5) await pause(wait);
          answers.push(producer.one(makeTimedPayload(index), topic));
        }
        await Promise.all(answers);
        return count;
      });
    });
  }

  sustain(most: number): void {
    this.#sustaining = this.#with(fillConnections, async (producer) => {
      let sent = 0;
      while (!this.#stopping) {
        if (sent - this.#consumed < most) {
          await producer.many(this.#makePayloads(sent, sustainedBatch));
          sent += sustainedBatch;
        } else await pause(2);
      }
    });
    // Told by `stopSustaining`.
    this.#sustaining.catch(() => undefined);
  }

  consumed(count: number): void {
    this.#consumed = count;
  }

  async stopSustaining(): Promise<void> {
    this.#stopping = true;
    await this.#sustaining;
  }

  /** A transaction of the user's own: it writes a row, inserts the task and commits. */
  async #insertWithin(producer: Producer, connections: number): Promise<Insertion> {
    const within = producer.within?.bind(producer);
    if (within === undefined) throw new Error('this queue cannot insert inside a transaction of the user');
    const pool = new Pool({ connectionString: this.#database, max: connections });
    const one = async (payload: Payload): Promise<void> => {
      const client = await pool.connect();
      await client.query('begin');
      await client.query({ name: 'effect', text: insertEffect, values: [payload.i] });
      await within(client, payload);
      await client.query('commit');
      client.release();
    };
    return { one, close: () => pool.end() };
  }

  #makePayloads(first: number, count: number): Payload[] {
    return Array.from({ length: count }, (_, offset) => this.#makePayload(first + offset));
  }

  #makePayload(i: number): Payload {
    return makePayload(i, this.#payloadBytes);
  }

  async #with<T>(connections: number, use: (producer: Producer) => Promise<T>): Promise<T> {
    const producer = await this.#adapter.producer(connections);
    try {
      return await use(producer);
    } finally {
      await producer.close();
    }
  }
}

interface Insertion {
  one(payload: Payload): Promise<unknown>;
  close(): Promise<void>;
}

function inserting(producer: Producer): Insertion {
  return { one: (payload) => producer.one(payload), close: async () => undefined };
}

async function measure(produce: (begunMs: number) => Promise<number>): Promise<Produced> {
  const cpu = process.cpuUsage();
  const begun = monotonicMs();
  const tasks = await produce(begun);
  const seconds = (monotonicMs() - begun) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = (user + system) / 1e6;
  return { tasks, seconds, cpuSeconds, begunAtMs: begun, peakRssBytes: peakRssBytes() };
}

async function atOnce(count: number, run: () => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, run));
}
