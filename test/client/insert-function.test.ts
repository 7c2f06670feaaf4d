import { Client, type PoolClient } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueueClient, type SqlHandle, type TaskInput } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { listen, type Listening } from '../support/listening.js';
import { startApp, useApp } from '../support/queue-app.js';

// In a transaction of the user's the library inserts by a function of the queue. A client that was made with a handle knows
// only the table's name and inserts by statement: what both insert is the same.

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false });
let bell: Listening;
let client: PoolClient;
let texts: string[] = [];

/** A transaction of an ORM: it takes texts and values, and nothing else. */
const tx: SqlHandle = {
  query: (text, values) => {
    texts.push(text);
    return client.query(text, values as unknown[]);
  },
};

beforeEach(async () => {
  texts = [];
  await pool.query('delete from tasks');
  bell = await listen(database, 'tasks');
  client = await pool.connect();
  await client.query('begin');
});

afterEach(async () => {
  await client.query('rollback');
  client.release();
  await bell.close();
});

type Row = Readonly<Record<string, unknown>>;

/** All columns but the id, and times as they lie to the transaction's. */
async function inserted(): Promise<readonly Row[]> {
  const { rows } = await client.query<Row>(`
    select to_jsonb(t) - 'id' - 'data_hora' - 'data_hora_inicial' as columns,
      round(extract(epoch from data_hora - now()) / 10) as due, data_hora = data_hora_inicial as first_due
    from tasks t order by id`);
  return rows;
}

const tomorrow = new Date(Date.now() + 86_400_000);

test.each<readonly [string, TaskInput]>([
  ['nothing but a topic', { topic: 'a' }],
  ['a payload', { topic: 'a', payload: { text: 'ação "x" \\ $1', n: [1, null] } }],
  ['a delay', { topic: 'a', delayMs: 3_600_000 }],
  ['a due time ahead', { topic: 'a', runAt: tomorrow }],
  ['a due time past', { topic: 'a', runAt: new Date('2001-02-03T04:05:06Z') }],
  [
    'everything else',
    {
      topic: 'a',
      origin: 'o',
      destination: 'd',
      externalKey: 'k',
      tenant: 9_007_199_254_740_993n,
      group: 'g',
      priority: 90,
      metadata: { trace: 'x' },
    },
  ],
])('with %s the function inserts what the statement does', async (_, input) => {
  await queue.insertTask(input, { tx });
  await queue.insertTaskPubSub({ ...input, topic: 'a' }, { tx });
  expect(texts.map((text) => text.split('\n')[0])).toEqual(Array(2).fill('-- name: insert_by_function'));
  const byFunction = await inserted();
  await client.query('delete from tasks');
  const plain = new QueueClient(client, { table: 'tasks' });
  await plain.insertTask(input);
  await plain.insertTaskPubSub({ ...input, topic: 'a' });
  expect(byFunction).toHaveLength(2);
  expect(byFunction).toEqual(await inserted());
});

test('what the user inserts by SQL in the same transaction is filed, and rings, as ever', async () => {
  await queue.insertTask({ topic: 'a' }, { tx });
  const { rows } = await client.query<Row>(
    `insert into tasks (processo, reserva, prioridade) values ('b', 7, 60) returning reserva`,
  );
  expect(rows).toEqual([{ reserva: 0 }]);
  await client.query('commit');
  const heard = await bell.heard();
  expect(heard.map((ring) => ring.replace(/^\d+ /, '')).toSorted()).toEqual(['50 "t:a"', '60 "t:b"']);
});

test('equal tasks of one transaction ring once', async () => {
  for (let count = 0; count < 3; count += 1)
    await queue.insertTask({ topic: 'a', runAt: new Date(0) }, { tx });
  await client.query('commit');
  expect(await bell.heard()).toEqual(['0 50 "t:a" later']);
});

test('the search path of the user decides nothing', async () => {
  await client.query('create schema other; create table other.tasks (id int); set local search_path = other');
  await queue.insertTask({ topic: 'a' }, { tx });
  const { rowCount } = await client.query('select from public.tasks');
  expect(rowCount).toBe(1);
});

test('a role that may not run the function inserts by statement', async () => {
  const role = `producer_${Date.now()}`;
  await client.query('rollback');
  const { rows } = await pool.query<{ name: string }>(
    `select oid::regprocedure::text as name from pg_proc where proname = 'tasks_insert'`,
  );
  const name = String(rows[0]?.name);
  await pool.query(`create role ${role} login password 'p'; grant usage on schema public to ${role};
    grant select, insert on tasks to ${role}; grant usage on sequence tasks_id_seq to ${role};
    revoke execute on function ${name} from public`);
  const url = new URL(database.url);
  url.username = role;
  url.password = 'p';
  const app = await startApp({ url: url.href }, { worker: false, schema: 'check' });
  const own = new Client({ connectionString: url.href });
  await own.connect();
  try {
    await own.query('begin');
    const id = await app.queue.insertTask({ topic: 'a' }, { tx: own });
    await own.query('commit');
    const { rows: found } = await pool.query<Row>('select processo from tasks where id = $1', [id]);
    expect(found).toEqual([{ processo: 'a' }]);
  } finally {
    await own.end();
    await app.close();
    await pool.query(`grant execute on function ${name} to public; drop owned by ${role}; drop role ${role}`);
    await client.query('begin');
  }
});
