import { expect, test } from 'vitest';
import { QueueWebhooks, TaskHandler } from '../../lib/index.js';
import { countStatuses } from '../support/statuses.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver } from './kit/receivers.js';

const bench = useQueue();
const allowedAddresses = ['127.0.0.1'];

const statuses = (id: string): Promise<Record<string, number>> =>
  countStatuses(bench.pool, `subscriber_id = '${id}' and not dead`);

test('an endpoint that fails so often rests: what is due moves without an attempt; one probe closes it', async () => {
  let status = 500;
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end());
  const { queue, events, app } = await bench.start({
    retryIntervalMinutes: 60,
    webhooks: { allowedAddresses, circuit: { failures: 3, restMs: 2_000 } },
  });
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  const opened = nextEvent(events, 'webhook.opened');
  const closed = nextEvent(events, 'webhook.closed');
  for (let n = 0; n < 10; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed', payload: { n } });
  expect(await opened).toMatchObject({ subscriptionId: 'crm', failures: 3 });
  const requests = receiver.requests.length;
  expect(requests).toBe(3);
  const endpoint = await app.get(QueueWebhooks).endpoint('crm');
  expect(endpoint).toMatchObject({ failures: 3, restsUntil: expect.any(Date) });
  status = 200;
  await closed;
  await until(async () => (await statuses('crm'))['sucesso'] === 7, 'the deliveries that had waited');
  // The three that failed wait for their next attempts; no attempt was used by waiting.
  const { rows } = await bench.pool.query(
    `select distinct tentativa from tasks where subscriber_id = 'crm' and status = 'sucesso'`,
  );
  expect(rows).toEqual([{ tentativa: 1 }]);
  expect(await app.get(QueueWebhooks).endpoint('crm')).toMatchObject({ failures: 0, restsUntil: null });
});

test('where a due time moves, the time that the attempt before it names moves along', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const webhooks = { allowedAddresses, circuit: { failures: 2, restMs: 600_000 } };
  const first = await bench.start({ retryIntervalMinutes: 60, webhooks });
  await subscribe(bench.database, [{ id: 'erp', url: receiver.url, http_method: 'POST' }]);
  const failed = nextEvent(first.events, 'task.failed');
  await first.queue.insertTaskPubSub({ topic: 'order-placed' });
  await failed;
  await first.close();
  // Its next attempt is due, and another delivery comes before it, fails, and opens the circuit.
  await bench.pool.query(
    `update tasks set status = 'pendente', data_hora = now(), prioridade = 40
     where subscriber_id = 'erp' and status = 'agendada'`,
  );
  await bench.pool.query(
    `insert into tasks (processo, subscriber_id, payload, prioridade)
     select processo, subscriber_id, payload, 60 from tasks where subscriber_id = 'erp' and payload is not null`,
  );
  const second = await bench.start({ retryIntervalMinutes: 60, webhooks, autoStart: false });
  const opened = nextEvent(second.events, 'webhook.opened');
  await second.worker.start();
  await opened;
  const { rows } = await bench.pool.query(
    `select p.proxima_tentativa = n.data_hora as linked, n.status, n.data_hora > now() + interval '9 minutes' as moved
     from tasks n join tasks p on p.id = n.id_anterior where n.subscriber_id = 'erp' and n.prioridade = 40`,
  );
  expect(rows).toEqual([{ linked: true, status: 'agendada', moved: true }]);
});

test('a rest that is over is ended by one probe in the whole fleet; should that fail, the next rest is twice as long', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const webhooks = { allowedAddresses, circuit: { failures: 1, restMs: 500, longestRestMs: 900_000 } };
  const rests: number[] = [];
  const startOne = async () => {
    const one = await bench.start({ retryIntervalMinutes: 60, webhooks });
    one.events.on('webhook.opened', ({ forMs }) => rests.push(forMs));
    return one;
  };
  const { queue, events } = await startOne();
  await subscribe(bench.database, [{ id: 'shop', url: receiver.url, http_method: 'POST' }]);
  const opened = nextEvent(events, 'webhook.opened');
  for (let n = 0; n < 20; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed', payload: { n } });
  await opened;
  await startOne();
  await until(async () => rests.length >= 3, 'three rests', 45_000);
  // One request before each of them, and perhaps the next one's.
  expect(receiver.requests.length).toBeLessThanOrEqual(rests.length + 1);
  for (const [index, rest] of rests.slice(1).entries())
    expect(rest).toBeGreaterThan(1.5 * (rests[index] ?? 0));
}, 60_000);

test('ten endpoints that hang do not keep a healthy one waiting', async () => {
  const hanging = await startReceiver(() => undefined);
  const healthy = await startReceiver();
  const { queue } = await bench.start({
    retryIntervalMinutes: 60,
    webhooks: { allowedAddresses, timeoutMs: 30_000, concurrency: 20 },
    shutdownTimeoutMs: 100,
  });
  await subscribe(bench.database, [
    ...Array.from({ length: 10 }, (_, n) => ({ id: `hanging-${n}`, url: hanging.url, http_method: 'POST' })),
    { id: 'healthy', url: healthy.url, http_method: 'POST' },
  ]);
  for (let n = 0; n < 20; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed', payload: { n } });
  await until(
    async () => (await statuses('healthy'))['sucesso'] === 20,
    'all deliveries of the healthy one',
    15_000,
  );
  // Each of the others has one request under way, and no more.
  expect(hanging.requests).toHaveLength(10);
});

test('slow webhooks take no slots from code', async () => {
  const hanging = await startReceiver(() => undefined);
  class Handlers {
    @TaskHandler('quick')
    quick(): void {}
  }
  const { queue, events } = await bench.start({
    handlers: [Handlers],
    concurrency: 1,
    webhooks: { allowedAddresses, timeoutMs: 30_000 },
    shutdownTimeoutMs: 100,
  });
  await subscribe(bench.database, [{ id: 'hanging', url: hanging.url, http_method: 'POST' }]);
  await queue.insertTaskPubSub({ topic: 'order-placed' });
  await until(async () => hanging.requests.length === 1, 'the request that hangs');
  const done = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'quick');
  await queue.insertTask({ topic: 'quick' });
  expect((await done).task.topic).toBe('quick');
});
