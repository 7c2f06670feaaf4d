import { readRing } from '../../lib/coordination/ring.js';
import type { PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PostgresBell } from '../../lib/coordination/postgres/postgres-bell.js';
import {
  QueueClient,
  TaskHandler,
  type SqlHandle,
  type TaskContext,
  type TaskInput,
} from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { listen, type Listening } from '../support/listening.js';
import { coreOf, startApp, useApp } from '../support/queue-app.js';
import { countTasks } from '../support/statuses.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();
const { pool } = database;
const { app, queue } = await useApp(database, { worker: false });
let bell: Listening;
let client: PoolClient;

beforeEach(async () => {
  await pool.query('delete from tasks');
  bell = await listen(database, 'tasks');
  client = await pool.connect();
});

afterEach(async () => {
  client.release();
  await bell.close();
});

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }
}

type Topical = TaskInput & { readonly topic: string };

const ways: readonly (readonly [
  name: string,
  insert: (to: QueueClient, input: Topical, tx?: SqlHandle) => Promise<unknown>,
])[] = [
  ['insertTask', (to, input, tx) => to.insertTask(input, tx && { tx })],
  ['insertTasks', (to, input, tx) => to.insertTasks([input, input], tx && { tx })],
  ['insertTaskPubSub', (to, input, tx) => to.insertTaskPubSub(input, tx && { tx })],
  ['insertTaskWebhook', (to, input, tx) => to.insertTaskWebhook(input, tx && { tx })],
];

test.each(ways)('%s in a transaction that rolls back leaves no row and rings nobody', async (_, insert) => {
  await client.query('begin');
  await insert(queue, { topic: 'greet' }, client);
  await insert(queue, { topic: 'greet', delayMs: 60_000 }, client);
  await client.query('rollback');
  expect(await bell.heard()).toEqual([]);
  expect(await countTasks(pool)).toBe(0);
});

test.each(ways)('%s in a transaction rings when it commits, not before', async (name, insert) => {
  await client.query('begin');
  await insert(queue, { topic: 'greet', priority: 70 }, client);
  expect(await countTasks(pool)).toBe(0);
  expect(await bell.heard()).toEqual([]);
  await client.query('commit');
  // The second in which it is due, and its priority.
  const { rows } = await pool.query<{ second: string }>(
    'select floor(extract(epoch from min(data_hora)))::text as second from tasks',
  );
  expect(await bell.heard()).toEqual([
    `${rows[0]?.second} 70 "${name.endsWith('PubSub') || name.endsWith('Webhook') ? 'p' : 't:greet'}"`,
  ]);
});

test('a task for later rings as well, and says so, for a timer must be set', async () => {
  const runAt = new Date('2126-01-02T03:04:05.678Z');
  await client.query('begin');
  await queue.insertTask({ topic: 'greet', runAt }, { tx: client });
  await client.query('commit');
  expect(await bell.heard()).toEqual([`${Math.floor(runAt.getTime() / 1_000)} 50 "t:greet" later`]);
});

test('one statement rings once, for the first that is due and the highest priority', async () => {
  await client.query('begin');
  await queue.insertTasks(
    [
      { topic: 'greet', runAt: '2126-01-01T00:00:09Z', priority: 10 },
      { topic: 'greet', runAt: '2026-01-01T00:00:07Z', priority: 80 },
      { topic: 'greet', runAt: '2126-01-01T00:00:08Z', priority: 60 },
    ],
    { tx: client },
  );
  await client.query('commit');
  expect(await bell.heard()).toEqual([`${Date.parse('2026-01-01T00:00:07Z') / 1_000} 80 "t:greet" later`]);
});

test.each<readonly [what: string, columns: string, values: string]>([
  ['of several routes', 'processo', `('a'), ('b')`],
  ['of one topic with several keys', 'processo, chave_fila', `('a', '1'), ('a', '2')`],
  ['that are dead', 'processo, dead, live_id', `('a', true, 1)`],
  ['whose topic is not ASCII', 'processo', `('maçã')`],
  ['that are to run alone', 'processo, id_anterior, perdas', `('a', 1, 3)`],
])('a ring for tasks %s names no route', async (_, columns, values) => {
  await client.query(`insert into tasks (${columns}) values ${values}`);
  expect(await bell.heard()).toEqual([expect.stringMatching(/^\d+ 50$/)]);
});

test('a route is named with its key, in JSON', async () => {
  await client.query(
    `insert into tasks (processo, chave_fila) values ('say "a"', 'o:1'), ('say "a"', 'o:1')`,
  );
  const [text] = await bell.heard();
  expect(readRing(text)).toMatchObject({ route: 't:say "a"\u001fo:1', highest: 50, later: false });
});

test('equal rings of one transaction become one', async () => {
  await client.query('begin');
  const runAt = '2026-01-01T00:00:00.5Z';
  for (let index = 0; index < 50; index += 1)
    await queue.insertTask({ topic: 'greet', runAt }, { tx: client });
  await client.query('commit');
  expect(await bell.heard()).toHaveLength(1);
});

test('a transaction that is undone to a savepoint rings for what is left', async () => {
  await client.query('begin');
  await queue.insertTask({ topic: 'greet', priority: 1 }, { tx: client });
  await client.query('savepoint a');
  await queue.insertTask({ topic: 'greet', priority: 2 }, { tx: client });
  await client.query('rollback to a');
  await client.query('commit');
  expect(await bell.heard()).toEqual([expect.stringMatching(/^\d+ 1 "t:greet"$/)]);
  expect(await countTasks(pool)).toBe(1);
});

test.each(ways)(
  '%s by the injected client alone is rung for once, after its commit, by the library and not the table',
  async (_, insert) => {
    await insert(queue, { topic: 'greet' });
    // To the millisecond, a moment early.
    expect(await bell.next()).toMatch(/^\d+\.\d{3} 50 "(t:greet|p)"$/);
    await insert(queue, { topic: 'greet', delayMs: 60_000 });
    expect(await bell.next()).toMatch(/^\d+\.\d{3} 50 "(t:greet|p)" later$/);
    expect(await bell.heard()).toEqual([]);
  },
);

test('an insert alone rings by itself, and those beside it are rung for together afterwards', async () => {
  const { ringer } = coreOf(app).storage.bell as PostgresBell;
  const send = vi.spyOn(ringer, 'ring');
  await queue.insertTask({ topic: 'greet', priority: 7 });
  expect(send).not.toHaveBeenCalled();
  expect(await bell.next()).toMatch(/^\d+\.\d{3} 7 "t:greet"$/);
  await Promise.all(Array.from({ length: 50 }, () => queue.insertTask({ topic: 'greet' })));
  expect(send).toHaveBeenCalledTimes(49);
  const rings = await bell.heard();
  expect(rings.length).toBeGreaterThan(0);
  expect(rings.length).toBeLessThan(49);
});

test('being quiet ends with the statement: what the same connection inserts later rings by the table', async () => {
  class Chain {
    @TaskHandler('chain')
    async next(_payload: unknown, { db }: TaskContext): Promise<void> {
      await db.query(`insert into tasks (processo, prioridade) values ('end', 77)`);
    }
  }
  const own = await startApp(database, { handlers: [Chain], poolSize: 1, unknownTasks: 'leave' });
  const completed = nextEvent(own.events, 'task.completed');
  await own.queue.insertTask({ topic: 'chain' });
  await completed;
  expect(await bell.heard()).toContainEqual(expect.stringMatching(/^\d+ 77 "t:end"$/));
  await own.close();
});

test.each(ways)('%s by a client made by hand rings by the table', async (_, insert) => {
  await insert(new QueueClient(client, { table: 'tasks' }), { topic: 'greet' });
  expect(await bell.heard()).toEqual([expect.stringMatching(/^\d+ 50 "(t:greet|p)"$/)]);
});

test('each of them wakes a worker that does not poll', async () => {
  const worker = await startApp(database, { handlers: [Handlers], pollIntervalMs: 0 });
  const inTransaction = async (): Promise<void> => {
    await client.query('begin');
    await queue.insertTask({ topic: 'greet' }, { tx: client });
    await client.query('commit');
  };
  for (const insert of [
    inTransaction,
    () => queue.insertTask({ topic: 'greet' }),
    () => worker.queue.insertTask({ topic: 'greet' }),
    () => new QueueClient(pool, { table: 'tasks' }).insertTask({ topic: 'greet' }),
    () => pool.query(`insert into tasks (processo) values ('greet')`),
  ]) {
    const completed = nextEvent(worker.events, 'task.completed');
    await insert();
    expect(await completed).toMatchObject({ message: 'hello' });
  }
  await worker.close();
});

test('a row of the five columns that nsj-queue-lib documents runs to its success', async () => {
  const worker = await startApp(database, { handlers: [Handlers], pollIntervalMs: 0 });
  const completed = nextEvent(worker.events, 'task.completed');
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks (origem, destino, processo, chave_externa, payload) values ('a', 'b', 'greet', 'c', 'd') returning id`,
  );
  expect(await completed).toMatchObject({ task: { id: rows[0]?.id } });
  const { rows: after } = await pool.query('select status, mensagem from tasks');
  expect(after).toEqual([{ status: 'sucesso', mensagem: 'hello' }]);
  await worker.close();
});
