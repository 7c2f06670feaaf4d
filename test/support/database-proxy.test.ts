import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from './database.js';
import { startProxy, type DatabaseProxy } from './database-proxy.js';
import { until } from './waiting.js';

let database: TestDatabase;
let proxy: DatabaseProxy;
const clients: Client[] = [];

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query('create table note (n int)');
  proxy = await startProxy(database);
});

afterEach(async () => {
  proxy.pass();
  await Promise.all(clients.splice(0).map((client) => client.end().catch(() => undefined)));
  await until(async () => proxy.count() === 0, 'the connections are closed');
  await database.pool.query('truncate note');
});

afterAll(async () => {
  await proxy.close();
  await database.drop();
});

async function connect(name: string): Promise<Client> {
  const client = new Client({ connectionString: proxy.url, application_name: `tarefa ${name}` });
  client.on('error', () => undefined);
  clients.push(client);
  await client.connect();
  return client;
}

const notes = async (): Promise<number> => (await database.pool.query('select from note')).rowCount ?? 0;

/** Whether the server still has the connection of that name. */
const isConnected = async (name: string): Promise<boolean> =>
  (
    await database.pool.query(
      'select from pg_stat_activity where datname = current_database() and application_name = $1',
      [`tarefa ${name}`],
    )
  ).rowCount === 1;

async function terminate(name: string): Promise<void> {
  await database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1',
    [`tarefa ${name}`],
  );
}

test('a large answer and many small ones pass unchanged', async () => {
  const client = await connect('pool');
  const { rows } = await client.query(`select repeat('é', 500000) as text, n from generate_series(1, 20) n`);
  expect(rows).toHaveLength(20);
  expect(rows[19]).toEqual({ text: 'é'.repeat(500_000), n: 20 });
  expect((await client.query('select n from generate_series(1, 5000) n')).rowCount).toBe(5_000);
  expect(proxy.received).toBeGreaterThan(20_000_000);
});

test('a swallowed COMMIT is committed, and the client does not know', async () => {
  const fault = proxy.swallow({ purpose: 'pool', message: 'C', tag: 'COMMIT', then: 'cut' });
  const other = await connect('control');
  await other.query('begin');
  await other.query('commit');
  const client = await connect('q pool');
  await client.query('begin');
  await client.query('insert into note values (1)');
  await expect(client.query('commit')).rejects.toThrow(/terminated|ECONNRESET/);
  expect(await notes()).toBe(1);
  expect(fault.hits).toMatchObject({ connections: 1, messages: 1 });
  // Once only.
  const next = await connect('pool');
  await next.query('begin');
  expect((await next.query('commit')).command).toBe('COMMIT');
});

test('one missing row leaves the rest of the answer, and the connection, as they are', async () => {
  const client = await connect('control');
  const fault = proxy.swallow({ purpose: 'control', message: 'D', holding: '2', then: 'nothing' });
  expect((await client.query('select n from generate_series(1, 3) n')).rows).toEqual([{ n: 1 }, { n: 3 }]);
  expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }]);
  expect(fault.hits.messages).toBe(1);
});

test('a missing answer leaves the client waiting on a connection that lives', async () => {
  const client = await connect('control');
  const fault = proxy.swallow({ purpose: 'control', message: 'D', then: 'answer' });
  let answered = false;
  client.query('select 1').then(
    () => (answered = true),
    () => undefined,
  );
  await fault.hit;
  await until(async () => fault.hits.messages === 3, 'row, tag and end are swallowed');
  expect(answered).toBe(false);
  expect(await isConnected('control')).toBe(true);
  expect(proxy.reset()).toBe(1);
});

test('what is stalled comes later and in order; what is delayed comes late', async () => {
  const client = await connect('control');
  const fault = proxy.stall('control');
  const answers: number[] = [];
  const query = client
    .query('select n from generate_series(1, 3) n')
    .then(({ rows }) => answers.push(...rows.map((row) => row.n as number)));
  await fault.hit;
  expect(answers).toEqual([]);
  fault.lift();
  await query;
  expect(answers).toEqual([1, 2, 3]);
  const delay = proxy.delay(150);
  const begun = performance.now();
  await client.query('select 1');
  expect(performance.now() - begun).toBeGreaterThan(295);
  delay.lift();
});

test('silence tells nobody: the server keeps a connection whose client is gone', async () => {
  const client = await connect('control');
  const fault = proxy.silence('control');
  void client.query('insert into note values (1)').catch(() => undefined);
  await fault.hit;
  client.connection.stream.destroy();
  const other = await connect('pool');
  await other.query('select 1');
  expect(await isConnected('control')).toBe(true);
  expect(await notes()).toBe(0);
  fault.lift();
  expect(await isConnected('control')).toBe(true);
  await terminate('control');
});

test('half-closed towards the worker, the server keeps the connection', async () => {
  const client = await connect('session');
  const ended = new Promise((resolve) => client.on('error', resolve));
  proxy.halfClose('worker', 'session');
  await ended;
  expect(await isConnected('session')).toBe(true);
  await terminate('session');
});

test('half-closed towards the server, the worker keeps the connection', async () => {
  const client = await connect('session');
  proxy.halfClose('database', 'session');
  await until(async () => !(await isConnected('session')), 'the server has let go');
  expect(client.connection.stream.writable).toBe(true);
  client.connection.stream.destroy();
});

test('errors and notices are said in another language, and mean the same', async () => {
  const client = await connect('control');
  const notices: (string | undefined)[] = [];
  client.on('notice', ({ message }) => notices.push(message));
  const fault = proxy.translate();
  const other = { severity: 'ERRO', code: '22012', message: 'não foi possível: ação inválida' };
  await expect(client.query('select 1 / 0')).rejects.toMatchObject(other);
  await client.query(`do $$ begin raise notice 'something' using hint = 'do this'; end $$`);
  expect(notices).toEqual([other.message]);
  expect(fault.hits.messages).toBe(2);
  fault.lift();
  await expect(client.query('select 1 / 0')).rejects.toMatchObject({ message: 'division by zero' });
});

test('new connections go where the address leads then', async () => {
  const other = await createDatabase();
  const place = { url: database.url };
  const moving = await startProxy(place);
  const next = await startProxy(other);
  try {
    place.url = next.url;
    const client = new Client({ connectionString: moving.url });
    await client.connect();
    expect(next.count()).toBe(1);
    await client.end();
  } finally {
    await moving.close();
    await next.close();
    await other.drop();
  }
});

test('a connection is reset, or cut after some bytes', async () => {
  const first = await connect('control');
  const broken = new Promise<Error>((resolve) => first.on('error', resolve));
  expect(proxy.reset('control')).toBe(1);
  expect(await broken).toMatchObject({ code: 'ECONNRESET' });
  await until(async () => !(await isConnected('control')), 'the server has let go');
  const second = await connect('pool');
  const fault = proxy.cutAfter(1_000, 'pool');
  await second.query('select 1');
  await expect(second.query(`select repeat('x', 2000)`)).rejects.toThrow(/terminated/);
  expect(fault.hits.connections).toBe(1);
});
