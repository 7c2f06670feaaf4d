import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { LogLines } from '../support/log-lines.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
let proxy: DatabaseProxy;

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

beforeAll(async () => {
  proxy = await startProxy(bench.database);
});

afterEach(() => proxy.pass());

afterAll(() => proxy.close());

/** What PostgreSQL says when a full disk has lost pages of its notifications. */
const refuse = () =>
  proxy.refuse({
    purpose: 'session',
    beginning: 'listen "',
    code: '58P01',
    message: 'could not access status of transaction 0',
  });

const start = (options: QueueAppOptions = {}) =>
  bench.start({ connection: proxy.url, handlers: [Handlers], ...options });

/** Inserts one by SQL, for which the trigger rings. */
async function insert(): Promise<void> {
  await bench.pool.query(`insert into tasks (processo, payload) values ('work', '{}')`);
}

test.each(['listen', 'poll'] as const)(
  'with wake: %s a worker that may not listen starts, says so once, and finds tasks by polls',
  async (wake) => {
    refuse();
    const logger = new LogLines();
    // Its own polls would not come within the test.
    const { events } = await start({ wake, pollIntervalMs: wake === 'poll' ? 500 : 3_600_000, logger });
    const completed = nextEvent(events, 'task.completed');
    await insert();
    await completed;
    const said = logger.of('warn').filter((line) => line.includes('cannot listen'));
    expect(said).toEqual([
      `this worker cannot listen and is retrying: could not access status of transaction 0. ` +
        (wake === 'poll'
          ? 'It polls, as configured'
          : 'Until then it polls for tasks at least every 1000 ms'),
    ]);
  },
);

test('a session that comes back without being let listen is good for claims, and hears again once it is let', async () => {
  const { events } = await start({ pollIntervalMs: 0 });
  const refusal = refuse();
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('cannot listen'));
  const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'session');
  expect(proxy.reset('session')).toBe(1);
  await Promise.all([warned, restored]);
  const found = nextEvent(events, 'task.completed');
  await insert();
  await found;
  const again = nextEvent(events, 'notice', ({ message }) => message === 'this worker can listen again');
  refusal.lift();
  await again;
  // Polls are off again: only a ring tells of this one.
  const heard = nextEvent(events, 'task.completed');
  await insert();
  await heard;
});

test('who waits for a task’s end looks by itself where it may not listen', async () => {
  const { queue } = await start();
  refuse();
  const producer = await start({ worker: false, handlers: [] });
  const id = await queue.insertTask({ topic: 'work' });
  await expect(producer.app.get(QueueAdmin).waitFor(id, { timeoutMs: 20_000 })).resolves.toBeDefined();
});

test('a ring that came while it could not listen is not missed', async () => {
  const { events, worker } = await start({ pollIntervalMs: 0 });
  refuse();
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('cannot listen'));
  proxy.reset('session');
  await warned;
  await insert();
  await until(
    async () => (await bench.pool.query(`select from tasks where status <> 'sucesso'`)).rowCount === 0,
    'the task is done',
  );
  expect(worker.stalled).toBeUndefined();
});
