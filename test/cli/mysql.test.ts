import { expect, test } from 'vitest';
import type { RowDataPacket } from 'mysql2/promise';
import { TaskHandler } from '../../lib/index.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { runCli, type CliOptions, type CliResult } from './support.js';

const database = await useMysqlDatabase('mariadb');

function run(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return runCli(args, { env: { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' }, ...options });
}

/** The answer of one that has to end with that code, and say nothing else when it is 0. */
async function json<T = Record<string, unknown>>(args: readonly string[], code = 0): Promise<T> {
  const answer = await run([...args, '--json']);
  expect(answer).toMatchObject({ code, ...(code === 0 ? { stderr: '' } : {}) });
  return JSON.parse(answer.stdout) as T;
}

class Handlers {
  @TaskHandler('greet')
  greet(name: string): string {
    return `hello ${name}`;
  }
}

/** Starts a queue with `schema: 'check'`, and answers what a task ends with that somebody else inserts. */
async function useQueue(table: string): Promise<string | undefined> {
  const app = await startApp(database, { table, queue: table, schema: 'check', handlers: [Handlers] });
  try {
    const completed = nextEvent(app.events, 'task.completed');
    await database.pool.query(`insert into ${table} (processo, payload) values ('greet', 'Ana')`);
    return (await completed).message;
  } finally {
    await app.close();
  }
}

test('migrate says what is missing, makes it, and has nothing to do then', async () => {
  const plan = await run(['migrate', '--plan']);
  expect(plan).toMatchObject({ code: 0, stderr: '' });
  expect(plan.stdout).toContain(`${database.name}.tasks: not found\n1/`);
  expect((await json(['migrate', '--check'], 3))['upToDate']).toBe(false);
  const made = await run(['migrate']);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toContain(`${database.name}.tasks is up to date\n`);
  expect(await json(['migrate', '--check'])).toMatchObject({ upToDate: true, version: 1, steps: [] });
  expect(await run(['migrate'])).toMatchObject({
    code: 0,
    stdout: `${database.name}.tasks: version 1 of 1, nothing to do\n`,
  });
  expect(await useQueue('tasks')).toBe('hello Ana');
});

test('the script of db-gen makes a queue, and may be run again', async () => {
  const { code, stdout, stderr } = await runCli([
    'db-gen',
    database.name,
    'generated',
    '--database',
    'mysql',
    '--webhooks',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // As the client `mysql` reads it.
  const [before = '', trigger = '', after = ''] = stdout.split(/delimiter (?:\/\/|;)\n/);
  for (let time = 0; time < 2; time += 1) {
    await database.pool.query(before);
    await database.pool.query(trigger.replace(/\/\/\s*$/, ''));
    await database.pool.query(after);
  }
  expect(await useQueue('generated')).toBe('hello Ana');
  const [[row]] = await database.pool.query<RowDataPacket[]>(
    `select length(inner_key) as inside, length(outer_key) as outside, inner_key = outer_key as same from generated_seal`,
  );
  expect(row).toEqual({ inside: 64, outside: 64, same: 0 });
});

test('what only PostgreSQL has is refused in a sentence', async () => {
  for (const [args, text] of [
    [['adopt', 'tasks'], 'only tables of nsj-queue-lib in PostgreSQL can be adopted'],
    [['migrate', '--partition'], 'only PostgreSQL tables can be partitioned'],
    [['db-gen', 'a', 'b', '--database', 'mysql', '--partitioned'], 'only PostgreSQL tables can be'],
    [['db-gen', 'a', 'b', '--database', 'oracle'], '--database must be postgres or mysql, not "oracle"'],
  ] as const) {
    const { code, stderr } = await run(args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(text) as unknown });
  }
});

test('tasks are inserted, found, changed and removed', async () => {
  await run(['migrate']);
  const id = (await run(['insert', '--topic', 'ship', '--payload', '{"box":1}'])).stdout.trim();
  expect(id).toMatch(/^\d+$/);
  const lines = ['a', 'b', 'c'].map((key) => JSON.stringify({ topic: 'pack', externalKey: key }));
  expect(await run(['insert', '--file', '-'], { input: `${lines.join('\n')}\n` })).toMatchObject({ code: 0 });
  const refused = [...lines, JSON.stringify({ topic: 'pack', externalKey: 'x'.repeat(101) })].join('\n');
  expect((await run(['insert', '--file', '-'], { input: refused })).code).toBe(3);

  const listed = await json<{ readonly tasks: readonly { readonly id: string; readonly topic: string }[] }>([
    'tasks',
    '--status',
    'pending',
  ]);
  const packed = listed.tasks.filter(({ topic }) => topic === 'pack').map((task) => task.id);
  expect(packed.length).toBeGreaterThanOrEqual(3);
  expect((await run(['task', id])).stdout).toContain('ship');
  expect(await json(['cancel', id])).toMatchObject({ tasks: [{ id, done: true }] });
  expect(await json(['retry', id])).toMatchObject({ tasks: [{ id, done: true }] });
  expect(await json(['bury', packed[0] ?? '', '--reason', 'no more'])).toMatchObject({
    tasks: [{ done: true }],
  });
  const later = await run(['insert', '--topic', 'later', '--delay', '1h']);
  expect(later).toMatchObject({ code: 0, stderr: '' });
  expect(await json(['run-now', later.stdout.trim()])).toMatchObject({ tasks: [{ done: true }] });
  expect(await json(['delete', later.stdout.trim(), '--yes'])).toBeDefined();
  expect(await json(['cancel', '--all', '--topic', 'pack', '--yes'])).toBeDefined();
  for (const args of [
    ['status'],
    ['tasks'],
    ['pause', '--topic', 'pack'],
    ['resume', '--topic', 'pack'],
    ['purge', '--older-than', '1', '--dry-run'],
    ['purge', '--older-than', '0'],
    ['halt'],
  ]) {
    const { code, stderr } = await run(args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  }
});

test('subscriptions are added and published to', async () => {
  await run(['migrate']);
  expect(await run(['subscriptions', 'add', 'crm', 'order-placed'])).toMatchObject({ code: 0 });
  expect((await run(['subscriptions'])).stdout).toContain('order-placed');
  expect(await run(['publish', '--topic', 'order-placed'])).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['subscriptions', 'remove', 'crm'])).toMatchObject({ code: 0 });
});

test('a server that is not there is exit code 2', async () => {
  const { code, stderr } = await runCli([
    'status',
    '--url',
    'mysql://ana:secret@127.0.0.1:1/shop',
    '--table',
    't',
  ]);
  expect(code).toBe(2);
  expect(stderr).toContain('no server is listening at 127.0.0.1:1');
  expect(stderr).not.toContain('secret');
});
