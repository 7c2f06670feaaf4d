import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { errorTable, QueueAdmin, Subscriber, TaskHandler, type TaskContext } from '../../../lib/index.js';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { readTables } from '../../../lib/storage/postgres/schema/row-security.js';
import { LogLines } from '../../support/log-lines.js';
import { createQueue, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { deferred, nextEvent, until } from '../../support/waiting.js';
import { useQueue } from '../../worker/queue-bench.js';

const role = `guarded_${randomBytes(6).toString('hex')}`;
const bench = useQueue();
let url: string;

class Handlers {
  @TaskHandler('work')
  async work(_: unknown, { db }: TaskContext): Promise<string> {
    const { rows } = await db.query('select name from guarded order by name');
    return rows.map(({ name }) => String(name)).join();
  }

  @TaskHandler('grouped', { grouped: true })
  async grouped(payload: unknown, context: TaskContext): Promise<string> {
    return this.work(payload, context);
  }

  @TaskHandler('strict')
  async strict(payload: unknown, context: TaskContext): Promise<string> {
    await context.db.query('set transaction isolation level serializable');
    return this.work(payload, context);
  }

  @Subscriber('crm', { topic: 'paid' })
  crm(): void {}
}

/** Every table of the queue that statements read. */
const tables = [
  ...['tasks', 'tasks_subscriber', 'tasks_worker', 'tasks_paused', 'tasks_schedule'],
  ...['tasks_history', 'tasks_seal', 'tarefa_migration', 'tasks_webhook'],
];

beforeAll(async () => {
  const address = new URL(bench.database.url);
  Object.assign(address, { username: role, password: 'secret' });
  url = address.href;
  await bench.pool.query(`create role ${role} login password 'secret'`);
  await createQueue(bench.database, { webhooks: {} });
  await bench.pool.query(`grant usage on schema public to ${role};
    grant select, insert, update, delete on all tables in schema public to ${role};
    grant usage on all sequences in schema public to ${role};
    create table guarded (name text);
    insert into guarded values ('mine'), ('theirs');
    alter table guarded enable row level security;
    create policy mine on guarded using (name = 'mine');
    grant select on guarded to ${role}`);
});

afterEach(async () => {
  for (const table of tables) await secure(table, 'disable');
});

afterAll(() => bench.pool.query(`drop owned by ${role}; drop role ${role}`));

async function secure(table: string, how: 'enable' | 'disable'): Promise<void> {
  await bench.pool.query(`alter table ${table} ${how} row level security`);
}

/** As the role that policies hold for. */
const start = (options: QueueAppOptions = {}) =>
  bench.start({ connection: url, handlers: [Handlers], schema: 'check', recovery: false, ...options });

const sqlOf = (message: string): string[] => message.split('\n').filter((line) => line.endsWith(';'));

test('these are all tables that the library asks about', () => {
  const queue = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });
  expect(readTables(queue, { webhooks: true })).toEqual(tables.map((table) => `"public"."${table}"`));
});

test.each(tables)(
  'a worker is refused whose policies may hide rows of %s, with what to do about it',
  async (table) => {
    await secure(table, 'enable');
    const refusal = await start({ webhooks: {} }).catch(
      (error: unknown) => error as Error & { readonly code: string },
    );
    const { code, message } = refusal as { code: string; message: string };
    expect(code in errorTable ? code : '').toBe('RIGHTS_MISSING');
    expect(message).toContain(`"${role}" would silently miss rows of the queue public.tasks`);
    expect(sqlOf(message)).toEqual([
      `alter table "public"."${table}" disable row level security;`,
      `alter role "${role}" bypassrls;`,
    ]);
    await bench.pool.query(sqlOf(message)[0] ?? '');
    await start({ webhooks: {} });
  },
);

test('the owner of the tables is refused only where policies are forced on it', async () => {
  const owned = async (): Promise<QueueApp> => start({ queue: 'owned', table: 'owned', schema: 'create' });
  await bench.pool.query(`grant create on schema public to ${role}`);
  await (await owned()).close();
  await bench.pool.query('alter table owned enable row level security');
  await (await owned()).close();
  await bench.pool.query('alter table owned force row level security');
  await expect(owned()).rejects.toMatchObject({ code: 'RIGHTS_MISSING' });
});

test('policies that come later make statements fail, and the worker says so instead of finding nothing', async () => {
  const { events, queue } = await start();
  const ended = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'work' });
  await ended;
  const failing = nextEvent(events, 'worker.error');
  await secure('tasks', 'enable');
  await bench.pool.query(`insert into tasks (processo, payload) values ('work', '{}')`);
  expect((await failing).error).toMatchObject({
    message: 'query would be affected by row-level security policy for table "tasks"',
  });
  const recovered = nextEvent(events, 'worker.recovered');
  await secure('tasks', 'disable');
  await recovered;
  await until(
    async () => (await bench.pool.query(`select from tasks where status = 'sucesso'`)).rowCount === 2,
    'the task that nobody saw',
  );
});

test('an attempt whose row policies hide at its end is not taken for lost, and given back as if it had never run', async () => {
  const begun = deferred();
  const finish = deferred();
  const attempts: number[] = [];
  class Held {
    @TaskHandler('held')
    async held(_: unknown, { db, task }: TaskContext): Promise<void> {
      attempts.push(task.attempt);
      await db.query('select 1');
      begun.resolve();
      await finish.promise;
    }
  }
  const { events, queue } = await start({ handlers: [Held], retryIntervalMinutes: 0, pollIntervalMs: 100 });
  const lost: string[] = [];
  events.on('task.lost', ({ task }) => void lost.push(task.id));
  await queue.insertTask({ topic: 'held' });
  await begun.promise;
  await secure('tasks', 'enable');
  finish.resolve();
  await until(async () => {
    const { rowCount } = await bench.pool.query(
      `select from pg_stat_activity where usename = $1 and state = 'idle in transaction'`,
      [role],
    );
    return rowCount === 0;
  }, 'its transaction is over');
  const ended = nextEvent(events, 'task.completed');
  await secure('tasks', 'disable');
  await ended;
  expect({ attempts, lost }).toEqual({ attempts: [1, 2], lost: [] });
});

/** How an attempt fails of a worker that sees everything and whose handler takes a role that does not. */
async function failAs(end: (context: TaskContext) => Promise<unknown>): Promise<string> {
  class Restricted {
    @TaskHandler('restricted', { maxAttempts: 1 })
    async run(_: unknown, context: TaskContext): Promise<void> {
      await secure('tasks', 'enable');
      await end(context);
    }
  }
  const app = await bench.start({ handlers: [Restricted], recovery: false });
  const failed = nextEvent(app.events, 'task.failed');
  await app.queue.insertTask({ topic: 'restricted' });
  return (await failed).message;
}

test.each([
  ['does not see its row', ''],
  ['may not change its row', 'create policy seen on tasks for select using (true)'],
])(
  'a task is not called lost when the role of the transaction given to completeIn %s',
  async (text, policy) => {
    await bench.pool.query(policy);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('begin');
    const refused = deferred<unknown>();
    const message = await failAs((context) =>
      context.completeIn(client).catch((error: unknown) => {
        refused.resolve(error);
        throw error;
      }),
    );
    await client.end();
    await bench.pool.query('drop policy if exists seen on tasks');
    expect(message).toContain(
      `is this worker's, but the transaction given to ctx.completeIn, as ${role}, ${text}`,
    );
    expect(await refused.promise).toMatchObject({ code: 'RIGHTS_MISSING' });
  },
);

test('completed twice in one transaction a task is not called hidden', async () => {
  const client = new Client({ connectionString: bench.database.url });
  await client.connect();
  await client.query('begin');
  const message = await failAs(async (context) => {
    await context.completeIn(client);
    const again = context.completeIn(client);
    await again.catch(() => client.query('rollback'));
    await again;
  });
  await client.end();
  expect(message).toContain('no longer belongs to this worker');
});

test('nor is it when the role that a handler takes in its own transaction does not see its row', async () => {
  const message = await failAs(({ db }) => db.query(`set local role ${role}`));
  expect(message).toContain("is this worker's, but its own transaction could not see or change its row");
});

test('a publication is not discarded because its subscriptions are hidden', async () => {
  const { events, queue } = await start({ retryIntervalMinutes: 0 });
  const failed = nextEvent(events, 'task.failed');
  await secure('tasks_subscriber', 'enable');
  await queue.insertTaskPubSub({ topic: 'paid' });
  expect((await failed).message).toContain('row-level security policy for table "tasks_subscriber"');
  const delivered = nextEvent(events, 'publication.delivered');
  await secure('tasks_subscriber', 'disable');
  expect(await delivered).toMatchObject({ deliveries: 1 });
});

test('a pause that is hidden is not taken for none', async () => {
  const { events, queue, app } = await start();
  const admin = app.get(QueueAdmin);
  await admin.pause({ topic: 'work' });
  // A worker that has not heard of it yet runs what comes.
  const paused = await until(async () => {
    const id = await queue.insertTask({ topic: 'work' });
    await bench.ended(await queue.insertTask({ topic: 'strict' }));
    return (await bench.statusOf(id)) === 'pendente' && id;
  }, 'the worker to hear of the pause');
  const failing = nextEvent(events, 'worker.error');
  await secure('tasks_paused', 'enable');
  // It asks again what is paused when it is told that this has changed.
  await bench.pool.query(`select pg_notify('tasks', 'PAUSED')`);
  await failing;
  expect(await bench.row(paused)).toMatchObject({ status: 'pendente' });
  await secure('tasks_paused', 'disable');
  await admin.resume({ topic: 'work' });
});

test.each([
  ['in a handler', 'work'],
  ['in a group', 'grouped'],
  ['in a handler that chooses its isolation level', 'strict'],
])('policies of the application’s own tables hold %s as everywhere', async (_, topic) => {
  const { events, queue } = await start();
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic });
  expect((await completed).message).toBe('mine');
});

test('a process that only inserts may have policies of its own: it is warned, and goes on', async () => {
  await secure('tasks', 'enable');
  await bench.pool.query(`create policy insert_only on tasks for insert with check (true);
    create policy own on tasks for select using (processo = 'mine')`);
  const logger = new LogLines();
  const { queue, app } = await start({ worker: false, logger });
  expect(logger.of('warn').join('\n')).toContain('would silently miss rows of the queue public.tasks');
  await bench.pool.query(`insert into tasks (processo, payload) values ('theirs', '{}')`);
  await queue.insertTask({ topic: 'mine' });
  const admin = app.get(QueueAdmin);
  expect(await admin.counts()).toMatchObject([{ topic: 'mine', count: 1 }]);
  expect((await admin.list()).tasks).toMatchObject([{ topic: 'mine' }]);
  await bench.pool.query('drop policy insert_only on tasks; drop policy own on tasks');
});

test('to one that started without any, a queue that is hidden later is not empty', async () => {
  const { queue, app } = await start({ worker: false });
  await queue.insertTask({ topic: 'mine' });
  await secure('tasks', 'enable');
  const admin = app.get(QueueAdmin);
  const hidden = 'query would be affected by row-level security policy for table "tasks"';
  await expect(admin.counts()).rejects.toThrow(hidden);
  await expect(admin.list()).rejects.toThrow(hidden);
});
