import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { clientOf } from '../sample-app/shop.js';
import { useDatabase } from '../support/database.js';
import { until } from '../support/waiting.js';
import { distVariables, interpolate, services } from './deployment-files.js';
import { buildImage, runIn, type Container, type Image } from './image.js';

const database = await useDatabase();
let image: Image;
let port: number;
const containers = new Map<string, Container>();

beforeAll(async () => {
  [image, port] = await Promise.all([buildImage(), freePort()]);
}, 300_000);

/** A service with what compose would give it; names of services lead to this computer. */
function start(name: string): Container {
  const service = services[name];
  const given = Object.entries(service?.environment ?? {});
  const variables = { ...distVariables, DATABASE_PASSWORD: 'x' };
  const env = Object.fromEntries(
    given.map(([variable, value]) => [variable, here(interpolate(String(value), variables))]),
  );
  if (name === 'worker') env['PORT'] = '0';
  const command = (service?.command ?? []).map((part) => (part === 'producer' ? '127.0.0.1' : part));
  const container = runIn(image, command, env);
  containers.set(name, container);
  return container;
}

function here(text: string): string {
  if (text.startsWith('postgres://')) return database.url;
  if (text === '3000') return String(port);
  return text.replace('producer:3000', `127.0.0.1:${port}`).replace('0.0.0.0', '127.0.0.1');
}

/** Waits until it has printed that; rejects when it ends before. */
async function printed(container: Container, text: RegExp): Promise<string> {
  const found = until(async () => text.exec(container.output())?.[0], `${text}`);
  const over = container.ended.then((end) => {
    throw new Error(`it ended with ${end}: ${container.output()}`);
  });
  return Promise.race([found, over]);
}

test('what the image needs to run is there, and what it needs to be built is not', async () => {
  const names = ['--input-type=module', '-e', "await import('@nestjs/platform-express')"];
  expect(await runIn(image, ['node', ...names], {}).ended).toBe(0);
  const tools = runIn(image, ['node', '-e', "require.resolve('typescript')"], {});
  expect(await tools.ended).toBe(1);
  expect(await runIn(image, ['tarefa', '--version'], {}).ended).toBe(0);
});

test('the tables are made once, by `tarefa migrate`', async () => {
  for (const round of [1, 2]) {
    const migrate = start('migrate');
    expect({ round, end: await migrate.ended, output: migrate.output() }).toMatchObject({ end: 0 });
  }
  const { rows } = await database.pool.query("select to_regclass('shop_queue_webhook') is not null as made");
  expect(rows).toEqual([{ made: true }]);
});

test('an order that one process takes is worked on by another and told to the partner by a third', async () => {
  const producer = start('producer');
  await printed(producer, /The shop is open: \S+/);
  const shop = clientOf(`http://127.0.0.1:${port}`);
  const { id } = await shop.place({ customer: 'Zoë', items: [{ sku: 'tea', quantity: 1 }] });
  expect(await shop.get('/health')).toMatchObject({ status: 200, body: { worker: 'none' } });
  const waiting = await shop.orderWhen(id, () => true);
  expect(waiting).toMatchObject({ deliveries: [], effects: { searchable: false } });

  const worker = start('worker');
  const address = await printed(worker, /http:\/\/[^\s/]+\/health/);
  start('webhooks');
  await shop.orderWhen(
    id,
    ({ effects }) => effects.surveySent && effects.searchable && effects.stockReserved,
  );
  await until(async () => {
    const { rows } = await database.pool.query(
      "select status from shop_queue_tasks where subscription_id = 'partner' and status = 'succeeded'",
    );
    return rows.length === 1;
  }, 'the webhook has been delivered');
  expect((await shop.get('/partner/orders')).body).toEqual({ received: 1 });
  const { rows } = await database.pool.query<{ pid: number }>(
    `select distinct w.pid from shop_queue q join shop_queue_worker w on w.id = q.executor where q.subscriber_id = 'partner'`,
  );
  expect(rows).toEqual([{ pid: containers.get('webhooks')?.process.pid }]);
  expect((await fetch(address)).status).toBe(200);
}, 60_000);

test('the health checks say how a role is', async () => {
  const [, ...check] = services['producer']?.healthcheck?.test ?? [];
  const asked = (at: number): Promise<unknown> =>
    runIn(
      image,
      check.map((part) => part.replace(':3000/', `:${at}/`)),
      {},
    ).ended;
  expect(await asked(port)).toBe(0);
  expect(await asked(await freePort())).toBe(1);
});

test('every role ends with 0 when it is told to stop, and nothing is left', async () => {
  for (const name of ['webhooks', 'worker', 'producer']) {
    const container = containers.get(name);
    container?.process.kill('SIGTERM');
    expect({ name, end: await container?.ended }).toEqual({ name, end: 0 });
  }
  const { rows } = await database.pool.query(
    'select count(*)::int as alive from shop_queue_worker where stopped_at is null',
  );
  expect(rows).toEqual([{ alive: 0 }]);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return free;
}
