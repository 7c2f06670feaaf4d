import { afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createQueue, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
let ran: string[] = [];

class Handlers {
  @TaskHandler('note')
  note(payload: string): void {
    ran.push(payload);
  }
}

beforeAll(() => createQueue(bench.database));

afterEach(() => {
  ran = [];
});

const start = (options: QueueAppOptions = {}) =>
  bench.start({ handlers: [Handlers], pollIntervalMs: 0, ...options });

const hasRun = (payload: string): Promise<boolean> =>
  until(async () => ran.includes(payload), `the task '${payload}' runs`);

test('a plain INSERT starts its task with polling off, whatever the case of table and channel', async () => {
  await start({ queue: 'Order.Events', table: 'shop_Tasks' });
  await workersAreQuiet(bench.database);
  await bench.pool.query(`insert into "shop_Tasks" (processo, payload) values ('note', 'alone')`);
  await hasRun('alone');
  await workersAreQuiet(bench.database);
  // Statements of one string are one transaction.
  await bench.pool.query(
    `insert into "shop_Tasks" (processo, payload) values ('note', 'first');
     insert into "shop_Tasks" (processo, payload) values ('note', 'second')`,
  );
  await hasRun('second');
  expect([...ran].sort()).toEqual(['alone', 'first', 'second']);
});

test('a task that is committed late starts then, though younger ones have long run', async () => {
  await start();
  const late = await bench.pool.connect();
  await late.query(
    `begin; insert into tasks (processo, payload, data_hora) values ('note', 'late', now() - interval '1 hour')`,
  );
  await bench.pool.query(`insert into tasks (processo, payload) values ('note', 'younger')`);
  await hasRun('younger');
  await workersAreQuiet(bench.database);
  expect(ran).toEqual(['younger']);
  await late.query('commit');
  late.release();
  await hasRun('late');
  expect(ran).toEqual(['younger', 'late']);
});

test('a worker that is never rung finds tasks when it polls', async () => {
  await start({ pollIntervalMs: 1_500 });
  await workersAreQuiet(bench.database);
  await bench.pool.query(
    `begin; set local tarefa.quiet = 'on'; insert into tasks (processo, payload) values ('note', 'quiet'); commit`,
  );
  await hasRun('quiet');
  expect(ran).toEqual(['quiet']);
});

test("wake: 'poll' listens to nothing and polls every second by default", async () => {
  const app = await bench.start({ handlers: [Handlers], wake: 'poll' });
  await bench.pool.query(`notify tasks, 'HALT'`);
  await bench.pool.query(`insert into tasks (processo, payload) values ('note', 'polled')`);
  await hasRun('polled');
  await app.queue.insertTask({ topic: 'note', payload: 'soon', delayMs: 10 });
  await hasRun('soon');
  expect(ran).toEqual(['polled', 'soon']);
});

test('a worker with a free slot takes what is rung for while another task runs', async () => {
  let end: () => void = () => undefined;
  class HoldHandlers {
    @TaskHandler('hold')
    hold(): Promise<void> {
      return new Promise((resolve) => (end = resolve));
    }
  }
  const { queue } = await start({ handlers: [Handlers, HoldHandlers], concurrency: 2 });
  await queue.insertTask({ topic: 'hold' });
  await workersAreQuiet(bench.database);
  await bench.pool.query(`insert into tasks (processo, payload) values ('note', 'beside')`);
  await hasRun('beside');
  expect(ran).toEqual(['beside']);
  end();
});
