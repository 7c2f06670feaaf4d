import { afterEach, beforeEach, expect, test } from 'vitest';
import { openQueue } from '../../lib/assembly/operators.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { encodeTask } from '../../lib/client/task-input.js';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { holdTimers } from '../support/held-timers.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { withClient } from '../support/with-client.js';

let database: TestDatabase;
let proxy: DatabaseProxy;
let app: QueueApp | undefined;
let early: string;

beforeEach(async () => {
  database = await createDatabase();
  proxy = await startProxy(database);
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await proxy.close();
  await database.drop();
});

/** How long an answer may take, and what is added to it. */
const isLimit = (ms: number): boolean => ms === 30_000 || ms === 5_000;

/** Resolves when so many statements wait for locks. Asked outside of a transaction, in which the answer would stay the same. */
function waiting(count: number): Promise<boolean> {
  return until(async () => {
    const { rowCount } = await database.pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rowCount === count;
  }, `${count} statements wait for locks`);
}

/** A process that only produces, with two connections in its pool and one for people who look. */
async function startProducer(): Promise<QueueApp> {
  app = await startApp(database, { connection: proxy.url, worker: false, poolSize: 2 });
  const { queue } = app;
  await app.app.get(QueueAdmin).counts();
  const { rows } = await database.pool.query(`insert into tasks (processo) values ('early') returning id`);
  early = rows[0]?.id;
  await withClient(database, async (client) => {
    await client.query('begin; lock table tasks in access exclusive mode');
    // What only reads rings nobody: nothing of it comes later.
    const equivalent = { topic: 'early', externalKey: 'key', payload: { id: 1 } };
    const asked = Promise.all([queue.listEquivalentTask(equivalent), queue.listEquivalentTask(equivalent)]);
    await waiting(2);
    await client.query('commit');
    await asked;
  });
  return app;
}

test.each<[string, (app: QueueApp) => Promise<unknown>]>([
  ['an insert', ({ queue }) => queue.insertTask({ topic: 'lost' })],
  ['several inserts', ({ queue }) => queue.insertTasks([{ topic: 'lost' }, { topic: 'lost' }])],
  ['a change of the admin', (producer) => producer.app.get(QueueAdmin).cancel(early)],
  ['a look of the admin', (producer) => producer.app.get(QueueAdmin).counts()],
])(
  '%s on a connection that fell silent fails, and the next one works, though others are silent too',
  async (_, call) => {
    const producer = await startProducer();
    const timers = holdTimers(isLimit);
    const silence = proxy.forget();
    const lost = call(producer).catch((error: unknown) => error);
    await silence.hit;
    timers.ringFirst();
    timers.ringFirst();
    expect(await lost).toMatchObject({
      code: 'CONNECTION_LOST',
      message: expect.stringContaining('no answer in 35 s') as unknown,
    });
    timers.release();
    expect(await producer.queue.insertTask({ topic: 'late' })).toEqual(expect.any(String));
    await call(producer);
  },
);

test('an attempt whose transaction begins on a connection that fell silent fails, and the next one works', async () => {
  class Handlers {
    @TaskHandler('write', { retryDelayMs: 20 })
    async write(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
    }
  }
  app = await startApp(database, { connection: proxy.url, handlers: [Handlers], poolSize: 1 });
  const { queue, events } = app;
  const warm = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'write' });
  await warm;
  const timers = holdTimers(isLimit);
  const silence = proxy.forget('pool');
  let error: unknown;
  events.on('task.failed', (failed) => void (error = failed.error));
  const completed = nextEvent(events, 'task.completed');
  await database.pool.query(`insert into tasks (processo) values ('write')`);
  await silence.hit;
  await until(async () => {
    if (error === undefined && timers.waiting > 0) timers.ringFirst();
    return error;
  }, 'the attempt fails');
  expect(error).toMatchObject({ message: expect.stringContaining('no answer in 35 s') as unknown });
  timers.release();
  await completed;
});

test('an import on a connection that fell silent fails', async () => {
  const options = resolveOptions({ connection: proxy.url, queue: 'tasks', worker: false }, {});
  const opened = await openQueue(options, () => undefined);
  try {
    const transactions = await opened.value.openImport();
    const task = encodeTask({ topic: 'lost' }, false, 1_000);
    const timers = holdTimers(isLimit);
    const silence = proxy.forget('pool');
    const lost = transactions.insert([{ line: 1, task }]).catch((error: unknown) => error);
    await silence.hit;
    timers.ringFirst();
    timers.ringFirst();
    expect(await lost).toMatchObject({ message: expect.stringContaining('no answer in 35 s') as unknown });
    await transactions.close();
  } finally {
    await opened.close();
  }
});

test('a statement that the server is at work on is waited for', async () => {
  const { queue } = await startProducer();
  await withClient(database, async (client) => {
    await client.query('begin; lock table tasks in access exclusive mode');
    const timers = holdTimers(isLimit);
    const inserted = queue.insertTask({ topic: 'patient' });
    await waiting(1);
    timers.ringFirst();
    timers.ringFirst();
    await until(async () => timers.waiting === 1, 'it is waited for again');
    await client.query('commit');
    expect(await inserted).toEqual(expect.any(String));
  });
});
