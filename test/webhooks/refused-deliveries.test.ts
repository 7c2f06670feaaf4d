import { afterEach, expect, test } from 'vitest';
import { QueueWebhooks } from '../../lib/index.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver } from './kit/receivers.js';

// A delivery that a trigger of the user's does not let change keeps neither its endpoint nor its neighbours.
const bench = useQueue();

afterEach(() => acceptRows(bench.pool));

/** Deliveries to the subscription `crm`, by SQL. */
async function deliver(status: string, count: number): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ id: string | number }>(
    `insert into tasks (processo, subscriber_id, payload, status)
     select 'order-placed', 'crm', '{"publication":"{}","subscription":{}}', '${status}' from generate_series(1, ${count})
     returning id`,
  );
  return rows.map(({ id }) => String(id));
}

test('an endpoint rests though a delivery that is due cannot be moved to the end of the rest', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const { queue, events, app } = await bench.start({
    retryIntervalMinutes: 60,
    webhooks: { allowedAddresses: ['127.0.0.1'], circuit: { failures: 1, restMs: 60_000 } },
  });
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  await refuseRows(bench.pool, {
    when: 'before update',
    condition: `old.status = 'pendente' and new.status = 'agendada'`,
    message: 'nothing is put off here',
  });
  const opened = nextEvent(events, 'webhook.opened');
  for (let n = 0; n < 3; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed', payload: { n } });
  expect(await opened).toMatchObject({ subscriptionId: 'crm', failures: 1 });
  expect(await app.get(QueueWebhooks).endpoint('crm')).toMatchObject({ restsUntil: expect.any(Date) });
  expect(receiver.requests).toHaveLength(1);
});

test('deliveries are replayed beside one that may not be changed, which is named', async () => {
  const app = await bench.start({ autoStart: false, webhooks: { allowedAddresses: ['127.0.0.1'] } });
  await subscribe(bench.database, [{ id: 'crm', url: 'http://127.0.0.1:9/', http_method: 'POST' }]);
  const ids = await deliver('falha', 5);
  const odd = ids[2] ?? '';
  await refuseRows(bench.pool, { when: 'before update', condition: `old.id = ${odd}`, message: 'frozen' });
  const warned = nextEvent(app.events, 'warning', ({ message }) => message.includes(`Delivery ${odd}`));
  const replayed = await app.app.get(QueueWebhooks).replayFailed('crm', { since: new Date(0) });
  expect(replayed).toBe(4);
  expect((await warned).message).toContain('frozen');
  await until(async () => {
    const { rows } = await bench.pool.query(`select id from tasks where status = 'pendente'`);
    return rows.length === 4;
  }, 'four wait again');
});
