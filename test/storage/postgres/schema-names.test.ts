import { expect, test } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { nextEvent } from '../../support/waiting.js';
import { readIndexes } from './catalog.js';

const database = await useDatabase();
const { pool } = database;

class Handlers {
  @Subscriber('mail')
  mail(text: string): string {
    return `sent ${text}`;
  }

  @TaskHandler('fail', { maxAttempts: 2, retryDelayMs: 0 })
  fail(): never {
    throw new Error('never works');
  }

  @DeadTaskHandler('fail')
  bury(): string {
    return 'buried';
  }
}

const longest = 'a'.repeat(49);

test.each<readonly [table: string, quoted: string, companions: string]>([
  ['plain', '"public"."plain"', '"public"."plain'],
  ['shop.tasks', '"shop"."tasks"', '"shop"."tasks'],
  ['Shop.Tasks', '"Shop"."Tasks"', '"Shop"."Tasks'],
  ['order', '"public"."order"', '"public"."order'],
  ['Select.Table', '"Select"."Table"', '"Select"."Table'],
  ['_1', '"public"."_1"', '"public"."_1'],
  [`${longest}1`, `"public"."${longest}1"`, `"public"."${longest}1`],
  [`${longest}1.${longest}2`, `"${longest}1"."${longest}2"`, `"${longest}1"."${longest}2`],
])(
  'the table %s, in a schema that may have to be made, does all that a queue does',
  async (table, quoted, start) => {
    const { queue, events, notify, purge, retry, close } = await startApp(database, {
      table,
      queue: 'Mixed.Case-1',
      pollIntervalMs: 0,
      purgeMaxAgeDays: 0,
      handlers: [Handlers],
    });
    await pool.query(`insert into ${start}_subscriber" (id, processo) values ('mail', 'order-placed')`);
    const delivered = nextEvent(events, 'task.completed', ({ task }) => task.subscriptionId === 'mail');
    const buried = nextEvent(events, 'task.completed', ({ task }) => task.dead);
    // As any other program would, so that the trigger rings.
    await pool.query(
      `insert into ${quoted} (processo, payload, pub_sub) values ('order-placed', 'letter', true)`,
    );
    await queue.insertTask({ topic: 'fail' });
    expect(await delivered).toMatchObject({ message: 'sent letter' });
    expect(await buried).toMatchObject({ message: 'buried' });
    expect(await retry.run()).toBe(0);
    expect(await notify.run()).toBe(0);
    expect((await pool.query(`select from ${start}_tasks"`)).rowCount).toBe(4);
    expect(await purge.run()).toBe(5);
    await close();
    const checked = await startApp(database, {
      table,
      queue: 'Mixed.Case-1',
      schema: 'check',
      worker: false,
    });
    await checked.close();
  },
);

test('the longest table name has all its indexes: none is cut to the name of another', async () => {
  const [queue, subscriptions] = [
    await readIndexes(pool, `${longest}1`),
    await readIndexes(pool, `${longest}1_subscriber`),
  ];
  expect(Object.keys(queue)).toHaveLength(14);
  expect(Object.values(subscriptions)).toEqual(
    expect.arrayContaining([
      'UNIQUE btree (id)',
      'btree (tenant, grupo_empresarial, processo)',
      'btree (processo) WHERE ativo',
    ]),
  );
});

test('queues of one name in different schemas are different queues', async () => {
  const [one, two] = await Promise.all(
    ['one.same', 'two.same'].map((table) =>
      startApp(database, { table, queue: 'same', handlers: [Handlers] }),
    ),
  );
  if (!one || !two) throw new Error('unreachable');
  const delivered = nextEvent(two.events, 'publication.delivered');
  await pool.query(`insert into two.same (processo, payload, pub_sub) values ('nobody', 'letter', true)`);
  expect(await delivered).toMatchObject({ task: { id: '1' }, deliveries: 0 });
  expect((await pool.query('select from one.same')).rowCount).toBe(0);
  const { rows } = await pool.query(
    'select a.identity <> b.identity as differ from one.tarefa_migration a, two.tarefa_migration b',
  );
  expect(rows).toEqual([{ differ: true }]);
  await Promise.all([one.close(), two.close()]);
});

test('a table without schema is found along the search path, or made where the path begins', async () => {
  await pool.query('create schema "tenant-1.a"; create schema "Second"');
  const onPath = (path: string): { connectionString: string; options: string } => ({
    connectionString: database.url,
    options: `-c search_path=${path}`,
  });
  const insert = async (path: string): Promise<void> => {
    const { queue, close } = await startApp(database, {
      connection: onPath(path),
      queue: 'pathed',
      worker: false,
    });
    await queue.insertTask({ topic: 'any' });
    await close();
  };
  await insert('"tenant-1.a","Second"');
  expect((await pool.query('select from "tenant-1.a".pathed')).rowCount).toBe(1);
  // Further along the path it is found, not made again.
  await insert('"Second","tenant-1.a"');
  expect((await pool.query('select from "tenant-1.a".pathed')).rowCount).toBe(2);
  expect((await pool.query(`select to_regclass('"Second".pathed') as made`)).rows).toEqual([{ made: null }]);
});

test('a search path without a schema that exists is said', async () => {
  const connection = { connectionString: database.url, options: '-c search_path=nowhere' };
  await expect(startApp(database, { connection, queue: 'lost' })).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining(`write 'schema.lost'`),
  });
});

test('the subscriptions table may have a name and a schema of its own', async () => {
  await pool.query('create schema directory');
  const { events, close } = await startApp(database, {
    table: 'shop.jobs',
    subscriptionTable: 'directory.Readers',
    handlers: [Handlers],
  });
  await pool.query(`insert into directory."Readers" (id, processo) values ('mail', 'placed')`);
  const delivered = nextEvent(events, 'task.completed', ({ task }) => task.subscriptionId === 'mail');
  await pool.query(`insert into shop.jobs (processo, payload, pub_sub) values ('placed', 'letter', true)`);
  expect(await delivered).toMatchObject({ message: 'sent letter' });
  expect((await pool.query(`select to_regclass('shop.jobs_subscriber') as made`)).rows).toEqual([
    { made: null },
  ]);
  await close();
});
