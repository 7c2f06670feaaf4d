import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../../lib/index.js';
import { schemaVersion } from '../../../lib/storage/postgres/schema/schema.js';
import { createDatabase, useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { nextEvent } from '../../support/waiting.js';
import { readSchema } from './catalog.js';

const database = await useDatabase();
const { pool } = database;

beforeAll(() => start('create'));

async function start(schema: 'create' | 'check'): Promise<void> {
  await (await startApp(database, { schema, worker: false })).close();
}

const indexes = [
  'ready',
  'dead_ready',
  'scheduled',
  'running',
  'equivalent',
  'attempts',
  'dead',
  'deliveries',
  'successor',
  'unica',
  'limited',
  'batch',
  'age',
];

test.each<readonly [what: string, sql: string, missing: readonly string[]]>([
  ['a column', 'alter table tasks drop column erro', ['column "public"."tasks".erro']],
  [
    'several columns',
    'drop trigger tasks_schedule on tasks; alter table tasks drop column erro, drop column reserva',
    [
      'column "public"."tasks".reserva',
      'column "public"."tasks".erro',
      'index tasks_unica',
      'trigger tasks_schedule',
    ],
  ],
  ...indexes.map(
    (suffix) => [`the index ${suffix}`, `drop index tasks_${suffix}`, [`index tasks_${suffix}`]] as const,
  ),
  ['the trigger that files', 'drop trigger tasks_schedule on tasks', ['trigger tasks_schedule']],
  ['the trigger that rings', 'drop trigger tasks_ring on tasks', ['trigger tasks_ring']],
  ['a disabled trigger', 'alter table tasks disable trigger tasks_ring', ['trigger tasks_ring']],
  [
    'the function that inserts',
    `do 'begin execute (select format(''drop function %s'', oid::regprocedure) from pg_proc where proname = ''tasks_insert''); end'`,
    ['function tasks_insert'],
  ],
  ['the view', 'drop view tasks_tasks', ['view "public"."tasks_tasks"']],
  ['the subscriptions table', 'drop table tasks_subscriber', ['table "public"."tasks_subscriber"']],
  ['the table of pauses', 'drop table tasks_paused', ['table "public"."tasks_paused"']],
  ['the table of schedules', 'drop table tasks_schedule', ['table "public"."tasks_schedule"']],
  ['the key of seals', 'delete from tasks_seal', ['the key in "public"."tasks_seal"']],
  ['the table of that key', 'drop table tasks_seal', ['table "public"."tasks_seal"']],
  ['the worker table', 'drop table tasks_worker', ['table "public"."tasks_worker"']],
  [
    'the entry of the version',
    'delete from tarefa_migration',
    ['the entry of tasks in "public"."tarefa_migration"'],
  ],
])('check names %s that is missing, and nothing else; create makes it', async (_, sql, missing) => {
  await start('check');
  await pool.query(sql);
  const broken = await readSchema(pool, 'public');
  await expect(start('check')).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringContaining(
      `the queue public.tasks is incomplete: missing ${missing.join(', ')}. Start`,
    ),
  });
  expect(await readSchema(pool, 'public')).toEqual(broken);
  await start('create');
  await start('check');
});

test('check says that there is no such table, and makes nothing', async () => {
  const empty = await createDatabase();
  await expect(startApp(empty, { schema: 'check' })).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringContaining(
      'the table public.tasks does not exist: check the name, or create the queue. Start',
    ),
  });
  expect(await readSchema(empty.pool, 'public')).toEqual([]);
  await empty.drop();
});

test('a queue without publications is complete without a subscriptions table', async () => {
  await pool.query('drop table tasks_subscriber');
  const options = { schema: 'check', worker: false } as const;
  await expect(startApp(database, options)).rejects.toMatchObject({ code: 'SCHEMA_MISSING' });
  await (await startApp(database, { ...options, subscriptionTable: false })).close();
  await start('create');
});

test.each(['check', 'create'] as const)(
  'a role that may change rows but no definitions starts a complete queue with %s and runs its tasks',
  async (schema) => {
    class Handlers {
      @TaskHandler('greet')
      greet(name: string): string {
        return `hello ${name}`;
      }
    }
    const role = await createClerk();
    const { queue, events, close } = await startApp(role, { schema, handlers: [Handlers] });
    const completed = nextEvent(events, 'task.completed');
    await queue.insertTask({ topic: 'greet', payload: 'Ana' });
    expect(await completed).toMatchObject({ message: 'hello Ana' });
    await close();
    await role.drop();
  },
);

/** A role with exactly the rights on rows that a worker needs. */
async function createClerk(): Promise<{ readonly url: string; drop(): Promise<void> }> {
  const name = `clerk_${randomBytes(6).toString('hex')}`;
  await pool.query(`
    create role ${name} login password 'secret';
    revoke create on schema public from public;
    grant usage on schema public to ${name};
    grant select, insert, update, delete on tasks, tasks_worker to ${name};
    grant select on tasks_subscriber, tasks_paused, tasks_seal, tarefa_migration to ${name};
    grant select, insert, update on tasks_schedule to ${name};
    grant usage on sequence tasks_id_seq to ${name}`);
  const url = new URL(database.url);
  url.username = name;
  url.password = 'secret';
  return {
    url: url.href,
    drop: async () => void (await pool.query(`drop owned by ${name}; drop role ${name}`)),
  };
}

test('tables of the version before are refused by a start that may not make tables, and brought up by one that may', async () => {
  await pool.query(`update tarefa_migration set version = ${schemaVersion - 1}`);
  await expect(start('check')).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringMatching(
      `missing version ${schemaVersion} of its tables \\(they have ${schemaVersion - 1}\\).*npx tarefa migrate`,
    ),
  });
  await start('create');
  await start('check');
});
