import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { makePayload } from '../protocol.js';
import { openQueue, table, type BenchQueue } from './queue.js';

const topic = 'news';
const lookEveryMs = 5;

/** Endpoints on this computer, some of which never answer, and publications for all of them. */
export class WebhookEndpoints {
  readonly #queue: BenchQueue;
  readonly #client: Client;
  readonly #hanging: number;
  #server: Server | undefined;
  #healthy = 0;
  #answered = 0;

  /** @param hanging endpoints that accept requests and never answer */
  static async open(url: string, hanging: number): Promise<WebhookEndpoints> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new WebhookEndpoints(await openQueue(url, [], { worker: false }), client, hanging);
  }

  private constructor(queue: BenchQueue, client: Client, hanging: number) {
    this.#queue = queue;
    this.#client = client;
    this.#hanging = hanging;
  }

  async subscribe(count: number): Promise<void> {
    this.#healthy = count - this.#hanging;
    this.#server = createServer((request, response) => {
      request.resume();
      if (request.url?.startsWith('/hanging')) return;
      request.on('end', () => {
        this.#answered += 1;
        response.end('ok');
      });
    });
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    const urls = Array.from({ length: count }, (_, index) => {
      const kind = index < this.#hanging ? 'hanging' : 'healthy';
      return `http://127.0.0.1:${port}/${kind}/${index}`;
    });
    await this.#client.query(
      `insert into ${table}_subscriber (id, processo, url, http_method)
       select 'e' || n, '${topic}', url, 'POST' from unnest($1::text[]) with ordinality u (url, n)`,
      [urls],
    );
  }

  /** Publishes and waits until every endpoint that answers has its deliveries. */
  async publish(times: number): Promise<void> {
    for (let n = 0; n < times; n += 1) {
      await this.#queue.client.insertTaskPubSub({ topic, payload: makePayload(n) });
    }
    const expected = times * this.#healthy;
    // Counting rows costs the server more with each of them: only for the last ones.
    while (this.#answered < expected) await pause(lookEveryMs);
    for (;;) {
      const { rows } = await this.#client.query<{ n: number }>(
        `select count(*)::int as n from ${table} where subscriber_id is not null and status = 'sucesso'`,
      );
      if (rows[0]?.n === expected) return;
      await pause(lookEveryMs);
    }
  }
}
