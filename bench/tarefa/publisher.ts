import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { makePayload } from '../protocol.js';
import { openQueue, table, type BenchQueue } from './queue.js';

const topic = 'news';
const lookEveryMs = 1;

/** Subscriptions up to so many have handlers in the worker; more are left to other workers. */
export const mostHandled = 1_000;

export function subscriptionIds(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `s${index}`);
}

/** Publishes to a topic with many subscriptions. */
export class Publisher {
  readonly #queue: BenchQueue;
  readonly #client: Client;

  static async open(url: string): Promise<Publisher> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new Publisher(await openQueue(url, [], { worker: false }), client);
  }

  private constructor(queue: BenchQueue, client: Client) {
    this.#queue = queue;
    this.#client = client;
  }

  async subscribe(count: number): Promise<void> {
    await this.#client.query(
      `insert into ${table}_subscriber (id, processo) select unnest($1::text[]), '${topic}'`,
      [subscriptionIds(count)],
    );
  }

  /** Publishes and waits until the deliveries are there: they come in one commit with this success. */
  async publish(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) await this.#publishOne();
  }

  async #publishOne(): Promise<void> {
    const id = await this.#queue.client.insertTaskPubSub({ topic, payload: makePayload(0) });
    for (;;) {
      const { rows } = await this.#client.query<{ status: string }>({
        name: 'publication',
        text: `select status from ${table} where id = $1`,
        values: [id],
      });
      if (rows[0]?.status === 'sucesso') return;
      await pause(lookEveryMs);
    }
  }
}
