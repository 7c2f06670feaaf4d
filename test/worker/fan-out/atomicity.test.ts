import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  DeadTaskHandler,
  TaskHandler,
  type QueueModuleOptions,
  type TaskContext,
} from '../../../lib/index.js';
import { createQueue } from '../../support/queue-app.js';
import { subscribe } from '../../support/subscriptions.js';
import { nextEvent } from '../../support/waiting.js';
import { acceptRows, refuseRows } from '../../support/refusing-trigger.js';
import { onPostgres, unlessTold } from '../../support/run-database.js';
import { useQueue } from '../queue-bench.js';

const bench = useQueue();
let deadTopics: (string | null)[] = [];

class Handlers {
  @TaskHandler('order-placed')
  neverCalled(): void {
    throw new Error('publications go to subscriptions');
  }

  @DeadTaskHandler('order-placed')
  gaveUp(_: unknown, { task }: TaskContext): void {
    deadTopics.push(task.topic);
  }
}

beforeAll(() => createQueue(bench.database));

// Deliveries to one subscription cannot be inserted.
beforeEach(() =>
  refuseRows(bench.pool, {
    when: 'before insert',
    condition: `new.subscriber_id = 'refused'`,
    message: 'no delivery to refused',
  }),
);

afterEach(async () => {
  deadTopics = [];
  await acceptRows(bench.pool);
});

/** Only publications and dead tasks are touched; a failed one is tried again at once. */
const start = (options: QueueModuleOptions = {}) =>
  bench.start({
    handlers: [Handlers],
    unknownTasks: 'leave',
    retryIntervalMinutes: 0,
    pollIntervalMs: unlessTold,
    ...options,
  });

async function copies(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ topic: string; subscriber_id: string }>(
    `select processo as topic, subscriber_id from tasks where publication_id is not null order by 1, 2`,
  );
  return rows.map(({ topic, subscriber_id }) => `${topic} -> ${subscriber_id}`);
}

test('deliveries and the success of their publication become visible together', async () => {
  await subscribe(bench.database, [{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
  const { queue, events } = await start();
  const watcher = await bench.pool.connect();
  const seen = new Set<string>();
  const over = new AbortController();
  const watching = (async () => {
    while (!over.signal.aborted) {
      const { rows } = await watcher.query<{ status: string; copies: number }>(
        `select p.status, (select count(*)::int from tasks c where c.publication_id = p.id) as copies
         from tasks p where p.pub_sub`,
      );
      for (const { status, copies: made } of rows) seen.add(`${status === 'sucesso'} ${made}`);
    }
  })();
  let delivered = 0;
  const all = nextEvent(events, 'publication.delivered', () => (delivered += 1) === 50);
  for (let n = 0; n < 50; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed' });
  await all;
  over.abort();
  await watching;
  watcher.release();
  // Never a success with missing copies, never a copy before the success.
  expect([...seen].filter((state) => state !== 'false 0' && state !== 'true 3')).toEqual([]);
});

test('a copy that cannot be inserted takes the others with it, and the publication is tried again', async () => {
  await subscribe(bench.database, [{ id: 'a' }, { id: 'refused' }, { id: 'z' }]);
  const { queue, events } = await start({ retryIntervalMinutes: 525_600 });
  const failed = nextEvent(events, 'task.failed');
  const id = await queue.insertTaskPubSub({ topic: 'order-placed', payload: { order: 'ção' } });
  expect((await failed).message).toMatch(/no delivery to refused/);
  expect(await copies()).toEqual([]);

  await acceptRows(bench.pool);
  const delivered = nextEvent(events, 'publication.delivered');
  await bench.pool.query(
    `update tasks set data_hora = now() where status = 'agendada'; notify tasks, '* later'`,
  );
  expect(await delivered).toMatchObject({ task: { firstAttemptId: id, attempt: 2 }, deliveries: 3 });
  const { rows } = await bench.pool.query<{ publication_id: string; payload: string }>(
    'select publication_id, payload from tasks where subscriber_id is not null',
  );
  // Deliveries name the publication as a whole and get the payload that only its first attempt holds.
  const delivery = [id, '{"order":"ção"}'];
  expect(
    rows.map(({ publication_id, payload }) => [
      publication_id,
      (JSON.parse(payload) as { publication: string }).publication,
    ]),
  ).toEqual([delivery, delivery, delivery]);
  const chain = await bench.pool.query(
    'select tentativa, status, pub_sub from tasks where pub_sub order by id',
  );
  expect(chain.rows).toEqual([
    { tentativa: 1, status: 'falha', pub_sub: true },
    { tentativa: 2, status: 'sucesso', pub_sub: true },
  ]);
});

test('a publication that can never be delivered is tried as often as a task, then buried once', async () => {
  await subscribe(bench.database, [{ id: 'a' }, { id: 'refused' }]);
  const { queue, events } = await start({ maxAttempts: 3 });
  const buried = nextEvent(events, 'task.buried');
  const dead = nextEvent(events, 'task.completed', ({ task }) => task.dead);
  const id = await queue.insertTaskPubSub({ topic: 'order-placed', payload: 'lost?' });
  expect(await buried).toMatchObject({ task: { firstAttemptId: id, attempt: 3 } });
  await dead;
  // The dead chain has a handler of its own topic, and is not fanned out.
  expect(deadTopics).toEqual(['order-placed']);
  expect(await copies()).toEqual([]);
  const { rows } = await bench.pool.query(
    'select tentativa, status, dead, pub_sub, payload, live_id from tasks where dead',
  );
  expect(rows).toEqual([
    { tentativa: 1, status: 'sucesso', dead: true, pub_sub: true, payload: 'lost?', live_id: id },
  ]);
});

test('of several publications in one batch only the one that cannot be delivered fails', async () => {
  await subscribe(bench.database, [
    ...['t1', 't2', 't3', 't4'].map((processo) => ({ id: `to ${processo}`, processo })),
    { id: 'refused', processo: 't3' },
  ]);
  const { queue, events, worker } = await start({
    autoStart: false,
    retryIntervalMinutes: 525_600,
  });
  for (const topic of ['t1', 't2', 't3', 't4']) await queue.insertTaskPubSub({ topic });
  let delivered = 0;
  const three = nextEvent(events, 'publication.delivered', () => (delivered += 1) === 3);
  const failed = nextEvent(events, 'task.failed');
  await worker.start();
  expect((await failed).task).toMatchObject({ topic: 't3', attempt: 1 });
  await three;
  expect(await copies()).toEqual(['t1 -> to t1', 't2 -> to t2', 't4 -> to t4']);
  const { rows } = await bench.pool.query(
    `select processo, status from tasks where pub_sub and tentativa = 1 order by processo`,
  );
  expect(rows.map(({ processo, status }) => `${processo} ${status}`)).toEqual([
    't1 sucesso',
    't2 sucesso',
    't3 falha',
    't4 sucesso',
  ]);
});

test('5,000 subscriptions get their deliveries in one transaction', async () => {
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo) select 'subscriber ' || n, 'order-placed' from generate_series(1, 5000) n`,
  );
  const { queue, events } = await start();
  const delivered = nextEvent(events, 'publication.delivered');
  const id = await queue.insertTaskPubSub({ topic: 'order-placed', payload: { order: 1 } });
  expect(await delivered).toMatchObject({ deliveries: 5_000 });
  const { rows } = await bench.pool.query(
    `select count(*)::int as copies, count(distinct subscriber_id)::int as subscribers,
       ${onPostgres ? 'count(distinct xmin::text)::int' : 'count(distinct 1)::int'} as transactions
     from tasks where publication_id = $1 or id = $1 and status = 'sucesso'`,
    [id],
  );
  expect(rows).toEqual([{ copies: 5_001, subscribers: 5_000, transactions: 1 }]);
});
