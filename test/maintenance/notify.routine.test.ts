import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { listen, type Listening } from '../support/listening.js';
import { createQueue, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

/**
 * Neither timer nor poll: only rings and the routine start anything. The routine runs when a test says so, and nothing that a
 * busy machine leaves waiting for long counts as forgotten.
 */
const passive = {
  scheduledTimer: false,
  pollIntervalMs: 0,
  concurrency: 1,
  recovery: false,
  waitNotifyIntervalSeconds: 3_600,
} as const;

const bench = useQueue('tasks_worker');
let channel: Listening;
let ran: string[] = [];

class Handlers {
  @TaskHandler('work')
  work(payload: string): void {
    ran.push(payload);
  }
}

beforeAll(async () => {
  await createQueue(bench.database);
  channel = await listen(bench.database, 'tasks');
});

afterEach(() => {
  ran = [];
});

afterAll(() => channel.close());

const start = (options: QueueAppOptions = {}) => bench.start({ ...passive, ...options });

/** As a producer whose notification is lost. */
async function insertQuietly(values: string): Promise<void> {
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on';
     insert into tasks (processo, payload, status, data_hora) values ${values}; commit`,
  );
}

/** A worker that serves the topic, and hears no ring: {@link roundOf} renews its lease. */
async function registerWorker(): Promise<void> {
  await bench.pool.query(
    `insert into tasks_worker (host, pid, version, concurrency, routes, lease_until)
     values ('other', 1, '0.1.0', 1, '{t:work}', now())`,
  );
}

/** How many tasks a round promoted, and what it made the channel say. */
async function roundOf({
  notify,
  retry,
}: QueueApp): Promise<readonly [promoted: unknown, ...rings: string[]]> {
  await channel.heard();
  await bench.pool.query(
    `update tasks_worker set lease_until = now() + interval '10 seconds' where host = 'other'`,
  );
  const promoted = await notify.run();
  // It needs the session that the ring was sent through, so the ring is on its way after it.
  await retry.run();
  return [promoted, ...(await channel.heard())];
}

test('what is due is promoted and wakes the workers, what is not stays', async () => {
  const looker = await start();
  const worker = await start({ handlers: [Handlers] });
  await insertQuietly(`
    ('work', 'second', 'agendada', now() - interval '1 second'),
    ('work', 'first', 'agendada', now() - interval '2 seconds'),
    ('work', 'later', 'agendada', now() + interval '1 hour')`);
  let completed = 0;
  const last = nextEvent(worker.events, 'task.completed', () => ++completed === 2);
  expect(await roundOf(looker)).toEqual([2, '0.000 2147483647']);
  await last;
  expect(ran).toEqual(['first', 'second']);
  const { rows } = await bench.pool.query('select payload, status, tentativa from tasks order by payload');
  expect(rows).toEqual([
    { payload: 'first', status: 'sucesso', tentativa: 1 },
    { payload: 'later', status: 'agendada', tentativa: 1 },
    { payload: 'second', status: 'sucesso', tentativa: 1 },
  ]);
});

test('any number is promoted in one round, with one ring', async () => {
  const looker = await start();
  await bench.pool.query(
    `set tarefa.quiet = 'on'; insert into tasks (status, data_hora)
     select 'agendada', now() - interval '1 second' from generate_series(1, 2500); reset tarefa.quiet`,
  );
  expect(await roundOf(looker)).toEqual([2_500, '0.000 2147483647']);
  expect(await roundOf(looker)).toEqual([0]);
});

test('a task inserted while there was no worker runs when one starts', async () => {
  await insertQuietly(`('work', 'early', 'pendente', now())`);
  await start({ handlers: [Handlers] });
  await until(async () => ran.length === 1, 'the task runs');
  expect(ran).toEqual(['early']);
});

test('a task whose ring was lost runs at the latest with the notify routine', async () => {
  const worker = await start({ handlers: [Handlers], waitNotifyIntervalSeconds: 10 });
  await workersAreQuiet(bench.database);
  await insertQuietly(`('work', 'forgotten', 'pendente', now() - interval '11 seconds')`);
  const { rows } = await bench.pool.query('select status from tasks');
  expect(rows).toEqual([{ status: 'pendente' }]);
  await worker.notify.run();
  await until(async () => ran.length === 1, 'the task runs');
});

test('only a task that is pending for longer than the interval makes the routine ring', async () => {
  const looker = await start({ waitNotifyIntervalSeconds: 600 });
  await registerWorker();
  await insertQuietly(`('work', 'young', 'pendente', now() - interval '500 seconds')`);
  expect(await roundOf(looker)).toEqual([0]);
  await insertQuietly(`('work', 'forgotten', 'pendente', now() - interval '601 seconds')`);
  expect(await roundOf(looker)).toEqual([0, '0.000 2147483647']);
});

test('a pending row for later, as other programs leave them, is rung for once it is due', async () => {
  const looker = await start({ waitNotifyIntervalSeconds: 1 });
  await registerWorker();
  await insertQuietly(`('work', 'update', 'agendada', now() + interval '1 hour')`);
  await bench.pool.query(`update tasks set status = 'pendente'`);
  expect(await roundOf(looker)).toEqual([0]);
  await bench.pool.query(`update tasks set data_hora = now() - interval '2 seconds'`);
  expect(await roundOf(looker)).toEqual([0, '0.000 2147483647']);
});

test('what no running worker serves is not rung for, and is told once', async () => {
  const looker = await start({ waitNotifyIntervalSeconds: 1 });
  const told: { readonly waitingMs: number }[] = [];
  looker.events.on('tasks.unserved', (event) => told.push(event));
  await registerWorker();
  await insertQuietly(`
    ('nobody', 'old', 'pendente', now() - interval '20 seconds'),
    ('nobody', 'older', 'pendente', now() - interval '60 seconds'),
    ('young', 'new', 'pendente', now()),
    ('paused', 'old', 'pendente', now() - interval '20 seconds'),
    (null, 'old', 'pendente', now() - interval '20 seconds')`);
  await bench.pool.query(
    `insert into tasks (processo, subscriber_id, prioridade, data_hora)
     values ('x', 'code', 10, now() - interval '20 seconds'), ('x', 'hook', 10, now() - interval '20 seconds')`,
  );
  await bench.pool.query(
    `insert into tasks_subscriber (id, processo, url) values ('code', 'x', null), ('hook', 'x', 'https://a.test')`,
  );
  await bench.pool.query(`insert into tasks_paused (route) values ('t:paused')`);
  // Whoever delivers webhooks serves subscriptions that have a URL, and no others.
  await bench.pool.query(`update tasks_worker set routes = '{t:work,w}' where host = 'other'`);
  expect(await roundOf(looker)).toEqual([0, '0.000 2147483647']);
  const waitingMs = expect.any(Number);
  expect(new Set(told)).toEqual(
    new Set([
      { topic: null, subscriptionId: 'code', waitingMs },
      { topic: null, subscriptionId: null, waitingMs },
      { topic: 'nobody', subscriptionId: null, waitingMs },
    ]),
  );
  // Since the oldest of them is due.
  expect(Math.max(...told.map((event) => event.waitingMs))).toBeGreaterThanOrEqual(60_000);
  await bench.pool.query(`delete from tasks where subscriber_id = 'hook'`);
  expect(await roundOf(looker)).toEqual([0]);
  expect(told).toHaveLength(3);
  await bench.pool.query('truncate tasks_subscriber, tasks_paused');
});
