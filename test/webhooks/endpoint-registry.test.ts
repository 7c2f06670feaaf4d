import { beforeAll, expect, test } from 'vitest';
import { QueueEvents, type SqlHandle } from '../../lib/index.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import type { TextRow } from '../../lib/storage/postgres/connections/control-connection.js';
import { PostgresEndpoints } from '../../lib/storage/postgres/postgres-endpoints.js';
import type { QueueAccess } from '../../lib/storage/postgres/queue-access.js';
import { EndpointRegistry } from '../../lib/webhooks/endpoint-registry.js';
import { createQueue } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue('tasks_webhook');
const tables = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });
const restMs = 60_000;

beforeAll(() => createQueue(bench.database, { webhooks: {} }));

/** What a worker knows of the endpoint `crm`, which rests after one failure. */
function makeRegistry(handle: SqlHandle = bench.pool): { endpoints: EndpointRegistry; events: QueueEvents } {
  const events = new QueueEvents();
  const circuit = { failures: 1, restMs, longestRestMs: restMs };
  const options = { circuit, deactivateAfterDays: undefined, timeoutMs: 1_000, secretKeys: [] };
  const ask: QueueAccess['ask'] = async ({ text }, values) =>
    (await handle.query(text, [...values])).rows as readonly TextRow[];
  const schema = { tables } as QueueAccess['schema'];
  const store = new PostgresEndpoints({ ask, inserts: handle, looks: handle, schema });
  return { endpoints: new EndpointRegistry(store, events, options, async () => undefined), events };
}

const endRest = () =>
  bench.pool.query(`update tasks_webhook set open_until = clock_timestamp() - interval '1 second'`);

const restRoutes = async (endpoints: EndpointRegistry) =>
  (await endpoints.pausedRoutes()).filter(({ forMs }) => forMs !== undefined);

test('a rest that begins while a worker asks which endpoints rest is known to it anyway', async () => {
  const { endpoints } = makeRegistry({
    query: async (text, values) => {
      const answer = await bench.pool.query(text, values);
      if (text.includes('webhook_holds') && !endpoints.rests('crm')) await endpoints.failed('crm', 0);
      return answer;
    },
  });
  expect(await restRoutes(endpoints)).toEqual([]);
  expect(endpoints.rests('crm')).toBe(true);
  // The next answer has it, and counts from then on.
  expect(await restRoutes(endpoints)).toHaveLength(1);
  expect(endpoints.rests('crm')).toBe(false);
});

test('a request that began before the rest did fails late: no new rest, and the probe keeps its turn', async () => {
  const { endpoints, events } = makeRegistry();
  await endpoints.failed('crm', 0);
  await endRest();
  const { endpoints: other } = makeRegistry();
  expect(await restRoutes(other)).toEqual([]);
  await endpoints.failed('crm', 5_000);
  expect(await restRoutes(endpoints)).toHaveLength(1);
  // That of the probe itself counts.
  const opened = nextEvent(events, 'webhook.opened');
  await endpoints.failed('crm', 100);
  expect(await opened).toMatchObject({ failures: 2 });
});
