import { beforeEach, expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { leaveEffect } from '../support/leave-effect.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { subscribe } from '../support/subscriptions.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useFaults } from './kit/fault-bench.js';
import { allOnce, drained } from './kit/outcome.js';

const bench = useFaults();
let runs: string[];
/** What handlers without a transaction wait for. */
let gate: Promise<void>;

beforeEach(() => {
  runs = [];
  gate = Promise.resolve();
});

class Handlers {
  @TaskHandler('effect', { retryDelayMs: 20 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('batch', { retryDelayMs: 20 })
  async batch(_: unknown, { task }: TaskContext): Promise<void> {
    runs.push(`batch ${task.attempt}`);
    await gate;
  }

  @TaskHandler('fails once', { retryDelayMs: 300 })
  async failsOnce(_: unknown, { task }: TaskContext): Promise<void> {
    runs.push(`fails once ${task.attempt}`);
    await gate;
    if (task.attempt === 1) throw new Error('as expected');
  }

  @Subscriber('mail')
  mail(_: unknown, { task }: TaskContext): void {
    runs.push(`mail ${task.attempt}`);
  }
}

/** A worker behind the proxy that does nothing by itself. */
async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  const started = await bench.start({ handlers: [Handlers], ...options });
  // Its connections are open, and the next statement is the one that the test means.
  await started.queue.insertTask({ topic: 'batch' });
  await drained(bench.pool);
  await workersAreQuiet(bench);
  await bench.pool.query('truncate tasks, effect');
  runs = [];
  return started;
}

/** Inserts from outside of the proxy. */
async function insert(topic: string, payload = '{}'): Promise<void> {
  await bench.pool.query('insert into tasks (processo, payload) values ($1, $2)', [topic, payload]);
}

async function attempts(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ attempt: string }>(
    `select concat_ws(' ', status, tentativa, reserva) as attempt from tasks order by id`,
  );
  return rows.map(({ attempt }) => attempt);
}

test('a COMMIT that the server did and never answered, as the connection broke: the task is done, once', async () => {
  const { events } = await start();
  const fault = bench.proxy.swallow({ purpose: 'pool', message: 'C', tag: 'COMMIT', then: 'cut' });
  const completed = nextEvent(events, 'task.completed');
  await insert('effect');
  await completed;
  expect(fault.hits.messages).toBe(1);
  expect(await drained(bench.pool)).toEqual(allOnce(1));
  expect(await attempts()).toEqual(['sucesso 1 1']);
});

test('a COMMIT that did not get to the server: the attempt fails, and the next one has the effect', async () => {
  const { events } = await start();
  // Where the completion is answered the connection breaks; COMMIT travels behind it.
  const fault = bench.proxy.swallow({ purpose: 'pool', message: 'C', tag: 'INSERT', then: 'cut' });
  const failed = nextEvent(events, 'task.failed');
  await insert('effect');
  await failed;
  expect(fault.hits.messages).toBe(1);
  expect(await drained(bench.pool)).toEqual(allOnce(1));
  expect((await bench.pool.query('select attempt from effect')).rows).toEqual([{ attempt: 2 }]);
});

test('a claim whose answer was lost with the connection: what it took is given back and runs', async () => {
  const { events } = await start();
  const fault = bench.proxy.swallow({
    purpose: 'control',
    message: 'D',
    holding: 'the claimed row',
    then: 'cut',
  });
  const released = nextEvent(events, 'task.released');
  await insert('batch', '{"note":"the claimed row"}');
  await released;
  expect(fault.hits.messages).toBe(1);
  expect(await drained(bench.pool)).toEqual(allOnce(0, 1));
  // No attempt is used up, and the log says what happened.
  expect(await attempts()).toEqual(['sucesso 1 2']);
  expect(runs).toEqual(['batch 1']);
  expect(bench.log.of('warn').filter((line) => line.includes('returned to the queue'))).toHaveLength(1);
});

test('a claim whose row is missing in an answer on a connection that lives: it is found and given back', async () => {
  await start({ pollIntervalMs: 1_500 });
  const fault = bench.proxy.swallow({
    purpose: 'control',
    message: 'D',
    holding: 'the claimed row',
    then: 'nothing',
  });
  await insert('batch', '{"note":"the claimed row"}');
  await fault.hit;
  expect(await drained(bench.pool, 20_000)).toEqual(allOnce(0, 1));
  expect(await attempts()).toEqual(['sucesso 1 2']);
  expect(runs).toEqual(['batch 1']);
}, 40_000);

test('a completion whose answer was lost is not written twice, and the task is reported as completed', async () => {
  const { events } = await start();
  const completed = nextEvent(events, 'task.completed');
  const lost: unknown[] = [];
  events.on('task.lost', (event) => lost.push(event));
  const opening = deferred();
  gate = opening.promise;
  await insert('batch');
  await until(async () => runs.length === 1, 'the handler runs');
  await workersAreQuiet(bench);
  const fault = bench.proxy.swallow({ purpose: 'control', message: 'D', then: 'cut' });
  opening.resolve();
  await fault.hit;
  expect((await completed).task).toMatchObject({ attempt: 1 });
  expect(await drained(bench.pool)).toEqual(allOnce(0, 1));
  expect(await attempts()).toEqual(['sucesso 1 1']);
  expect(runs).toEqual(['batch 1']);
  expect(lost).toEqual([]);
});

test('a failure whose answer was lost has one next attempt, which starts on time', async () => {
  await start();
  const opening = deferred();
  gate = opening.promise;
  await insert('fails once');
  await until(async () => runs.length === 1, 'the handler runs');
  await workersAreQuiet(bench);
  const fault = bench.proxy.swallow({ purpose: 'control', message: 'D', then: 'cut' });
  opening.resolve();
  await fault.hit;
  // Nothing rings and nothing polls: the worker has to know of the next attempt.
  expect(await drained(bench.pool, 10_000)).toEqual(allOnce(0, 1));
  expect(await attempts()).toEqual(['falha 1 1', 'sucesso 2 1']);
  expect(runs).toEqual(['fails once 1', 'fails once 2']);
});

test('a fan-out whose answer was lost delivers once', async () => {
  await start();
  await subscribe(bench, [{ id: 'mail' }]);
  const fault = bench.proxy.swallow({ purpose: 'pool', message: 'D', then: 'cut' });
  await bench.pool.query(
    `insert into tasks (processo, pub_sub, payload) values ('order-placed', true, '{}')`,
  );
  await fault.hit;
  await drained(bench.pool);
  expect(runs).toEqual(['mail 1']);
  expect(await attempts()).toEqual(['sucesso 1 1', 'sucesso 1 1']);
});

test('an insert whose answer was lost rejects, and its task runs without waiting for a poll', async () => {
  const { queue } = await start({ pollIntervalMs: 0 });
  const fault = bench.proxy.swallow({ purpose: 'pool', message: 'C', tag: 'INSERT', then: 'cut' });
  await expect(queue.insertTask({ topic: 'batch', externalKey: 'x', payload: {} })).rejects.toThrow(
    /terminated|ECONNRESET/,
  );
  expect(fault.hits.messages).toBe(1);
  expect(await queue.listEquivalentTask({ topic: 'batch', externalKey: 'x', payload: {} })).not.toEqual([]);
  expect(await drained(bench.pool)).toEqual(allOnce(0, 1));
});
