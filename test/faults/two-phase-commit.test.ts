import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';

// PostgreSQL prepares no transaction that has notified.
let cluster: Cluster;
let database: ClusterDatabase;
let app: QueueApp;
let client: Client;

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }

  @TaskHandler('waits')
  async waits(_: unknown, { signal }: TaskContext): Promise<void> {
    await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
  }
}

beforeAll(async () => {
  cluster = await startCluster({ settings: { max_prepared_transactions: '2' } });
  database = await cluster.createDatabase();
  app = await startApp(database, { handlers: [Handlers], pollIntervalMs: 500, unknownTasks: 'leave' });
  await database.pool.query(`
    create function copied() returns trigger language plpgsql as $$ begin
      insert into tasks (processo) values ('copy'); return null; end $$;
    create trigger copied after insert on tasks for each row when (new.processo = 'with a copy')
      execute function copied()`);
});

afterAll(async () => {
  await app?.close();
  await cluster?.stop();
});

beforeEach(async () => {
  client = new Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin');
});

afterEach(() => client.end());

const refused = { code: '0A000' };
const prepare = () => client.query(`prepare transaction 'order'`);

test('it is refused after an insert, and nothing of it is left', async () => {
  await app.queue.insertTask({ topic: 'greet', externalKey: 'refused' }, { tx: client });
  await expect(prepare()).rejects.toMatchObject(refused);
  const { rows } = await database.pool.query(`select from tasks where chave_externa = 'refused'`);
  expect(rows).toEqual([]);
});

test.each<readonly [string, () => Promise<unknown>]>([
  ['insertTask', () => app.queue.insertTask({ topic: 'greet' }, { tx: client })],
  ['insertTasks', () => app.queue.insertTasks([{ topic: 'greet' }], { tx: client })],
  ['SQL', () => client.query(`insert into tasks (processo) values ('greet')`)],
])(
  'after tarefa.quiet what %s has inserted is prepared, committed, and found by the poll',
  async (_, insert) => {
    await client.query(`set local tarefa.quiet = 'on'`);
    await insert();
    await prepare();
    const completed = nextEvent(app.events, 'task.completed');
    await client.query(`commit prepared 'order'`);
    expect(await completed).toMatchObject({ message: 'hello' });
  },
);

test('so is what a trigger of the queue inserts beside it', async () => {
  await client.query(`set local tarefa.quiet = 'on'`);
  await app.queue.insertTask({ topic: 'with a copy' }, { tx: client });
  await prepare();
  await client.query(`rollback prepared 'order'`);
  const { rows } = await database.pool.query(`select from tasks where processo in ('copy', 'with a copy')`);
  expect(rows).toEqual([]);
});

test('and a cancellation, of which the worker of a running task learns by its poll', async () => {
  const claimed = nextEvent(app.events, 'task.claimed');
  const id = await app.queue.insertTask({ topic: 'waits' });
  await claimed;
  await client.query(`set local tarefa.quiet = 'on'`);
  await app.app.get(QueueAdmin).cancel(id, { tx: client });
  await prepare();
  const cancelled = nextEvent(app.events, 'task.cancelled');
  await client.query(`commit prepared 'order'`);
  expect(await cancelled).toMatchObject({ task: { id } });
});
