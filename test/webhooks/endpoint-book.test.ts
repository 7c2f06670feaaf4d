import { afterEach, beforeAll, expect, test } from 'vitest';
import type { AskTables } from '../../lib/coordination/lost-workers.js';
import { QueueEvents, type SqlHandle } from '../../lib/index.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import type { TextRow } from '../../lib/storage/postgres/connections/control-connection.js';
import { EndpointBook } from '../../lib/webhooks/endpoint-book.js';
import { startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const tables = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });
const restMs = 60_000;

beforeAll(async () => {
  await (await startApp(bench.database, { worker: false, webhooks: {} })).close();
});

afterEach(() => bench.pool.query('truncate tasks_webhook'));

/** What a worker knows of the endpoint `crm`, which rests after one failure. */
function makeBook(handle: SqlHandle = bench.pool): { book: EndpointBook; events: QueueEvents } {
  const events = new QueueEvents();
  const circuit = { failures: 1, restMs, longestRestMs: restMs };
  const options = { circuit, deactivateAfterDays: undefined, timeoutMs: 1_000, secretKeys: [] };
  const ask: AskTables = async ({ text }, values) =>
    (await handle.query(text, [...values])).rows as readonly TextRow[];
  return { book: new EndpointBook({ handle, ask, tables, channel: 'tasks', events, options }), events };
}

const endRest = () =>
  bench.pool.query(`update tasks_webhook set open_until = clock_timestamp() - interval '1 second'`);

const restRoutes = async (book: EndpointBook) =>
  (await book.holds()).filter(({ forMs }) => forMs !== undefined);

test('a rest that begins while a worker asks which endpoints rest is known to it all the same', async () => {
  const { book } = makeBook({
    query: async (text, values) => {
      const answer = await bench.pool.query(text, values);
      if (text.includes('webhook_holds') && !book.rests('crm')) await book.failed('crm', 0);
      return answer;
    },
  });
  expect(await restRoutes(book)).toEqual([]);
  expect(book.rests('crm')).toBe(true);
  // The next answer has it, and counts from then on.
  expect(await restRoutes(book)).toHaveLength(1);
  expect(book.rests('crm')).toBe(false);
});

test('a request that began before the rest did fails late: no new rest, and the probe keeps its turn', async () => {
  const { book, events } = makeBook();
  await book.failed('crm', 0);
  await endRest();
  const { book: other } = makeBook();
  expect(await restRoutes(other)).toEqual([]);
  await book.failed('crm', 5_000);
  expect(await restRoutes(book)).toHaveLength(1);
  // That of the probe itself counts.
  const opened = nextEvent(events, 'webhook.opened');
  await book.failed('crm', 100);
  expect(await opened).toMatchObject({ failures: 2 });
});
