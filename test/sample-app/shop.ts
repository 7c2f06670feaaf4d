import type { INestApplication } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OrderReport } from '../../sample-app/orders/order-reports.js';
import type { PlacedOrder } from '../../sample-app/orders/orders.service.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { distantRoutines } from '../support/queue-app.js';

/** What an HTTP request was answered. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly body: Body;
}

/** A shop on a database of its own. */
export interface TestShop {
  readonly app: INestApplication;
  readonly database: TestDatabase;
  get<Body = unknown>(path: string): Promise<Answer<Body>>;
  /** Text goes as it is, anything else as JSON. */
  post<Body = unknown>(path: string, body: unknown, contentType?: string): Promise<Answer<Body>>;
  /** Places an order that is expected to be fine. */
  place(order: object): Promise<PlacedOrder>;
  /** Asks for an order until it is as wanted, for a limited time. */
  orderWhen(id: number, wanted: (report: OrderReport) => boolean): Promise<OrderReport>;
  close(): Promise<void>;
}

/** Starts a shop on a free port. Once per test file: its settings are read when it is first imported. */
export async function openShop(): Promise<TestShop> {
  const database = await createDatabase();
  const { app, close, ...client } = await openShopAt(database.url);
  return {
    app,
    database,
    ...client,
    close: async () => {
      await close();
      await database.drop();
    },
  };
}

/** The same on a database of the caller's. */
export async function openShopAt(url: string): Promise<Omit<TestShop, 'database'>> {
  process.env['DATABASE_URL'] = url;
  // No variable says that a routine has no minutes.
  const { retryMinutes, notifyMinutes, purgeMinutes } = distantRoutines();
  process.env['QUEUE_MINUTE_RETRY_THREAD'] = String(retryMinutes);
  process.env['QUEUE_MINUTE_NOTIFY_THREAD'] = String(notifyMinutes);
  process.env['QUEUE_MINUTE_PURGE_THREAD'] = String(purgeMinutes);
  const { createShop } = await import('../../sample-app/shop.js');
  const app = await createShop({ logger: false });
  await app.listen(0, '127.0.0.1');
  return { app, ...clientOf(await app.getUrl()), close: () => app.close() };
}

/** Talks to a shop at an address, wherever it runs. */
export function clientOf(address: string): Pick<TestShop, 'get' | 'post' | 'place' | 'orderWhen'> {
  const get: TestShop['get'] = async (path) => read(await fetch(address + path));
  const post: TestShop['post'] = async (path, body, contentType = 'application/json') =>
    read(
      await fetch(address + path, {
        method: 'POST',
        headers: { 'content-type': contentType },
        body: isRaw(body) ? body : JSON.stringify(body),
      }),
    );
  const place: TestShop['place'] = async (order) => {
    const { status, body } = await post<PlacedOrder>('/orders', order);
    if (status !== 201) throw new Error(`the order was answered ${status}: ${JSON.stringify(body)}`);
    return body;
  };
  const orderWhen: TestShop['orderWhen'] = async (id, wanted) => {
    const deadline = Date.now() + 15_000;
    for (;;) {
      const { body } = await get<OrderReport>(`/orders/${id}`);
      if (wanted(body)) return body;
      if (Date.now() > deadline) throw new Error(`order ${id} did not get there: ${JSON.stringify(body)}`);
      await sleep(50);
    }
  };
  return { get, post, place, orderWhen };
}

/** True when nothing is left to be done for an order. */
export function hasEnded({ deliveries, effects }: OrderReport): boolean {
  const active = ['scheduled', 'retrying', 'pending', 'processing'];
  return (
    deliveries.length > 0 &&
    deliveries.every(({ status }) => !active.includes(status)) &&
    effects.surveySent === effects.receiptSent
  );
}

function isRaw(body: unknown): body is string | Buffer<ArrayBuffer> {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

async function read<Body>(response: Response): Promise<Answer<Body>> {
  return { status: response.status, body: (await response.json()) as Body };
}
