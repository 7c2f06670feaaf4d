import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { holdTimers } from '../support/held-timers.js';
import { startApp } from '../support/queue-app.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

let database: TestDatabase;
let proxy: DatabaseProxy;

beforeEach(async () => {
  database = await createDatabase();
  await createEffectTable(database);
  proxy = await startProxy(database);
});

afterEach(async () => {
  await proxy.close();
  await database.drop();
});

test('a database that accepts connections and never answers is given up at the start', async () => {
  proxy.silence();
  const connection = { connectionString: proxy.url, connectionTimeoutMillis: 200 };
  await expect(startApp(database, { connection, connectRetryMs: 0 })).rejects.toMatchObject({
    code: 'DATABASE_UNREACHABLE',
    message: expect.stringMatching(/did not answer.*timeout/) as unknown,
  });
});

test('a database that falls silent keeps no process from ending', async () => {
  const child = forkWorker(proxy, { shutdownTimeoutMs: 100 });
  await child.message('ready');
  await database.pool.query(`insert into tasks (processo) values ('hold'), ('hold')`);
  await child.message('started');
  proxy.silence();
  child.send('close');
  expect(await child.exit).toEqual({ code: 0, signal: null });
}, 60_000);

/** What closing may take besides `shutdownTimeoutMs`. */
const closingMs = 5_000;

/**
 * Closes by a clock that stands still but for the timers that are set meanwhile: they ring in their order, up to that time. So
 * what the machine does besides takes no time, and what would ring later never does.
 */
async function closeWithin(ms: number, close: () => Promise<void>): Promise<boolean> {
  const timers = holdTimers(() => true);
  const began = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => began + timers.nowMs);
  const closed = vi.fn<() => void>();
  const closing = close().then(closed);
  for (let idle = 0; closed.mock.calls.length === 0 && idle < 200; idle += 1) {
    // What needs no timer, such as the end of a thread, comes first. Where this process got no time for a while, its timers are
    // late all at once, before what has arrived meanwhile: hence the turns.
    await pause(100);
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    if (timers.nowMs + (timers.firstInMs ?? Infinity) > ms) continue;
    timers.ringFirst();
    idle = 0;
  }
  clock.mockRestore();
  timers.release();
  const isClosed = closed.mock.calls.length > 0;
  if (isClosed) await closing;
  return isClosed;
}

test.each([
  { webhooks: undefined, kind: 'a worker' },
  { webhooks: {}, kind: 'a worker with webhooks' },
])(
  '$kind closes within its time against a database that drops packets, whatever its handlers wait for',
  async ({ webhooks }) => {
    const shutdownTimeoutMs = 1_000;
    const started = deferred();
    const fell = deferred();
    let aborted = false;
    class Writing {
      @TaskHandler('write')
      async write(_: unknown, { db, signal }: TaskContext): Promise<void> {
        signal.addEventListener('abort', () => (aborted = true));
        await db.query('select 1');
        started.resolve();
        await fell.promise;
        await db.query('select 2');
      }
      @TaskHandler('plain')
      async plain(): Promise<void> {
        await fell.promise;
      }
    }
    const app = await startApp(database, {
      connection: proxy.url,
      handlers: [Writing],
      shutdownTimeoutMs,
      ...(webhooks && { webhooks }),
    });
    // Written down for the charts when it closes.
    await app.queue.insertTasks([{ topic: 'plain' }, { topic: 'write' }]);
    await started.promise;
    proxy.silence();
    fell.resolve();
    const stopped = nextEvent(app.events, 'worker.stopped');
    expect(await closeWithin(shutdownTimeoutMs + closingMs, app.close)).toBe(true);
    // Its handlers had their time first, and the one that waits was told.
    expect(aborted).toBe(true);
    expect((await stopped).unfinished).toBeLessThanOrEqual(1);
  },
  60_000,
);

test('a process that only produces closes within its time against a database that drops packets', async () => {
  const { queue, close } = await startApp(database, { connection: proxy.url, worker: false });
  await queue.insertTask({ topic: 'plain' });
  const silence = proxy.silence();
  const inserting = queue.insertTask({ topic: 'plain' }).catch(() => 'lost');
  await silence.hit;
  expect(await closeWithin(closingMs, close)).toBe(true);
  expect(await inserting).toBe('lost');
});
