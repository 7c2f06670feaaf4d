import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { readSchema } from '../storage/postgres/catalog.js';
import { useDatabase } from '../support/database.js';
import { createQueue, startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { debianFile, type DebianFile } from '../faults/kit/debian-tool.js';
import { runCli } from './support.js';

const runFile = promisify(execFile);
const database = await useDatabase();
const { pool } = database;

async function script(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCli(['db-gen', ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

class Handlers {
  @TaskHandler('greet')
  greet(name: string): string {
    return `hello ${name}`;
  }
}

/** Starts a queue with `schema: 'check'`, and answers what a task ends with that somebody else inserts. */
async function useQueue(
  table: string,
  queue: string,
  { quoted = table, webhooks = false } = {},
): Promise<string | undefined> {
  const { events, close } = await startApp(database, {
    table,
    queue,
    schema: 'check',
    handlers: [Handlers],
    pollIntervalMs: 0,
    webhooks,
  });
  try {
    const completed = nextEvent(events, 'task.completed');
    await pool.query(`insert into ${quoted} (processo, payload) values ('greet', 'Ana')`);
    return (await completed).message;
  } finally {
    await close();
  }
}

test('the script makes a queue in a schema of its own, in one go and again', async () => {
  const sql = await script('jobs', 'orders');
  await pool.query(sql);
  const made = await readSchema(pool, 'jobs');
  await pool.query(sql);
  expect(await readSchema(pool, 'jobs')).toEqual(made);
  expect(await useQueue('jobs.orders', 'orders')).toBe('hello Ana');
});

test('it makes what a start makes, and no more', async () => {
  await pool.query(await script('same', 'tasks'));
  const made = await readSchema(pool, 'same');
  await pool.query('drop schema same cascade');
  await createQueue(database, { table: 'same.tasks' });
  expect(await readSchema(pool, 'same')).toEqual(made);
  await pool.query(await script('same', 'tasks', '--webhooks'));
  await pool.query('drop table same.tasks_webhook');
  expect(await readSchema(pool, 'same')).toEqual(made);
});

/** The one on the path, else Debian's. */
async function findPsql(): Promise<Pick<DebianFile, 'path'> & Partial<DebianFile>> {
  const isInstalled = await runFile('psql', ['--version']).then(
    () => true,
    () => false,
  );
  if (isInstalled) return { path: 'psql' };
  return debianFile('usr/lib/postgresql/15/bin/psql', ['postgresql-client-15', 'libpq5', 'libreadline8']);
}

test('psql runs it, and stops at no statement', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-db-gen-'));
  try {
    const file = join(folder, 'queue.sql');
    await writeFile(file, await script('Mixed', 'Order', 'Some-Channel', '--webhooks'));
    const { path, env } = await findPsql();
    const args = [
      '--no-psqlrc',
      '--set=ON_ERROR_STOP=1',
      '--quiet',
      '--dbname',
      database.url,
      '--file',
      file,
    ];
    for (let run = 0; run < 2; run += 1) {
      await runFile(path, args, { env: { ...process.env, ...env } });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const options = { quoted: '"Mixed"."Order"', webhooks: true };
  expect(await useQueue('Mixed.Order', 'Some-Channel', options)).toBe('hello Ana');
});

describe('the arguments of db-gen', () => {
  test.each([
    [[], 'a schema and a queue are required'],
    [['public'], 'a queue is required'],
  ])('with the arguments %j it shows how it is used, and exits with 1', async (args, problem) => {
    const { code, stdout, stderr } = await runCli(['db-gen', ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(problem);
    expect(stderr).toContain('db-gen <schema> <queue> [channel]');
  });

  test('the third argument is the channel, and more are ignored', async () => {
    expect(await script('public', 'orders')).toContain(`execute function "public"."orders_ring"('orders')`);
    const sql = await script('public', 'orders', 'bell', 'surplus', 'another surplus');
    expect(sql).toContain(`execute function "public"."orders_ring"('bell')`);
    expect(sql).not.toContain('surplus');
  });

  test('no database is contacted, whatever the environment names', async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing', DB_PORT: 'nonsense' };
    expect((await runCli(['db-gen', 'public', 'orders'], { env })).code).toBe(0);
  });
});

test.each([
  [['public; drop table x', 'orders'], 'the schema "public; drop table x" may contain only letters'],
  [['a.b', 'orders'], 'the schema "a.b" contains a dot'],
  [['public', 'order-s'], 'the queue "order-s" may contain only letters'],
  [['public', 'a.b'], 'the queue "a.b" contains a dot'],
  [['public', '1st'], 'must not begin with a digit'],
  [['public', 'a'.repeat(51)], 'is longer than 50 characters'],
  [['public', 'orders', `it's`], 'which a channel name cannot'],
  [['public', 'orders', '--subscriptions', 'a b'], 'the subscriptions table "a b" may contain only letters'],
])('names that are not plain are refused: %j', async (args, problem) => {
  const { code, stdout, stderr } = await runCli(['db-gen', ...args]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain(problem);
});

test('options leave out the subscriptions table, name it, and add what webhooks need', async () => {
  expect(await script('public', 'orders')).toContain('"orders_subscriber"');
  expect(await script('public', 'orders', '--no-subscriptions')).not.toContain('_subscriber"');
  expect(await script('public', 'orders', '--subscriptions', 'directory.Readers')).toContain(
    'create table if not exists "directory"."Readers"',
  );
  expect(await script('public', 'orders')).not.toContain('orders_webhook');
  expect(await script('public', 'orders', '--webhooks')).toContain('"orders_webhook"');
});

test('--json gives the script as a text', async () => {
  const { stdout } = await runCli(['db-gen', 'public', 'orders', '--json']);
  const { script: sql, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
  expect(rest).toEqual({
    schema: 'public',
    queue: 'orders',
    channel: 'orders',
    subscriptions: 'orders_subscriber',
  });
  expect(sql).toBe(await script('public', 'orders'));
});
