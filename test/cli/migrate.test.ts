import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { schemaVersion } from '../../lib/storage/postgres/schema/schema.js';
import { readSchema } from '../storage/postgres/catalog.js';
import { damagedQueue } from '../storage/postgres/damaged-queue.js';
import { createNsjTable } from '../storage/postgres/nsj-table.js';
import { useDatabase } from '../support/database.js';
import { createQueue } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';
import { runCli, type CliResult } from './support.js';

const database = await useDatabase();
const { pool } = database;
/** A schema per test. */
let schema = '';

beforeEach(() => {
  schema = `s_${randomBytes(6).toString('hex')}`;
});

const migrate = (...args: string[]): Promise<CliResult> =>
  runCli(['migrate', '--url', database.url, '--table', `${schema}.tasks`, '--queue', 'tasks', ...args]);

test('an empty database gets a whole queue, then there is nothing to do', async () => {
  const first = await migrate();
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(
    new RegExp(`^${schema}.tasks: not found\\n1/1 create the queue .*\\n${schema}.tasks is up to date\\n$`),
  );
  const made = await readSchema(pool, schema);
  expect(await migrate()).toEqual({
    code: 0,
    stdout: `${schema}.tasks: version ${schemaVersion} of ${schemaVersion}, nothing to do\n`,
    stderr: '',
  });
  await pool.query(`drop schema ${schema} cascade`);
  await createQueue(database, { table: `${schema}.tasks` });
  expect(await readSchema(pool, schema)).toEqual(made);
});

test('--webhooks makes their table, also later', async () => {
  await migrate();
  const { code, stdout } = await migrate('--webhooks');
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('table of endpoints') });
  expect((await pool.query('select to_regclass($1) as t', [`${schema}.tasks_webhook`])).rows[0]).not.toEqual({
    t: null,
  });
});

describe('a damaged queue of an earlier version', () => {
  beforeEach(() => damagedQueue(pool, schema));

  test('--plan says the steps with their locks, --check exits with 3, and both change nothing', async () => {
    const before = await readSchema(pool, schema);
    const plan = await migrate('--plan');
    expect(plan.code).toBe(0);
    expect(plan.stdout).toContain(`tasks: version 0 of ${schemaVersion}, about`);
    expect(plan.stdout).toMatch(/add perdas\n +lock: ACCESS EXCLUSIVE on \S+, for an instant/);
    expect(plan.stdout).toMatch(/build the index tasks_age\n +lock: SHARE UPDATE EXCLUSIVE/);
    const check = await migrate('--check');
    expect(check).toEqual({ ...plan, code: 3 });
    expect(await readSchema(pool, schema)).toEqual(before);
    await migrate();
    expect(await migrate('--check')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nothing to do'),
    });
  });

  test('--json gives the steps, their SQL and how long they took', async () => {
    const planned = JSON.parse((await migrate('--plan', '--json')).stdout) as Report;
    expect(planned).toMatchObject({
      table: `${schema}.tasks`,
      version: 0,
      wantedVersion: schemaVersion,
      upToDate: false,
    });
    expect(planned.steps.map(({ ms }) => ms)).toEqual(planned.steps.map(() => undefined));
    const done = JSON.parse((await migrate('--json')).stdout) as Report;
    expect(done.upToDate).toBe(true);
    expect(done.steps.map(({ what }) => what)).toEqual(planned.steps.map(({ what }) => what));
    expect(done.steps.every(({ ms, sql }) => ms !== undefined && sql.length > 0)).toBe(true);
    expect(JSON.parse((await migrate('--check', '--json')).stdout)).toMatchObject({
      upToDate: true,
      steps: [],
    });
  });

  test('Ctrl-C ends a wait, says that it can go on, and leaves nothing locked', async () => {
    await withClient(database, async (other) => {
      await other.query(`begin; lock table ${schema}.tasks in access share mode`);
      const interrupt = new AbortController();
      const running = runCli(
        ['migrate', '--url', database.url, '--table', `${schema}.tasks`, '--queue', 'tasks'],
        {
          signal: interrupt.signal,
          onOutput: (stdout) => stdout.includes('1/') && interrupt.abort(),
        },
      );
      expect(await running).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Run the command again'),
      });
    });
    expect(await migrate()).toMatchObject({ code: 0 });
  });
});

interface Report {
  readonly upToDate: boolean;
  readonly steps: readonly { what: string; sql: readonly string[]; ms?: number }[];
}

test('a database that a newer version has made is refused', async () => {
  await migrate();
  await pool.query(`update ${schema}.tarefa_migration set version = 1000`);
  for (const args of [[], ['--plan'], ['--check']]) {
    expect(await migrate(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        `newer version (schema 1000, this library knows ${schemaVersion}): upgrade nestjs-tarefa`,
      ),
    });
  }
});

test('a table of nsj-queue-lib is left to adopt', async () => {
  const table = `nsj_${schema}`;
  await createNsjTable(pool, table);
  const { code, stderr } = await runCli(['migrate', '--url', database.url, '--table', table]);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/npx tarefa adopt/) });
});

test('another table of that name is refused, and stays as it is', async () => {
  await pool.query(`create schema ${schema}; create table ${schema}.tasks (id int, title text)`);
  const before = await readSchema(pool, schema);
  expect(await migrate()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('cannot be used as it is'),
  });
  expect(await readSchema(pool, schema)).toEqual(before);
});

describe('a role without rights', () => {
  const role = `clerk_${randomBytes(6).toString('hex')}`;
  const url = new URL(database.url);
  url.username = role;
  url.password = 'secret';

  afterAll(() => pool.query(`drop owned by ${role}; drop role ${role}`));

  test('may check, and is told who owns the table', async () => {
    await pool.query(`create role ${role} login password 'secret'`);
    await migrate();
    await pool.query(`grant usage on schema ${schema} to ${role};
      grant select on all tables in schema ${schema} to ${role}`);
    const asClerk = (...args: string[]): Promise<CliResult> =>
      runCli(['migrate', '--url', url.href, '--table', `${schema}.tasks`, '--queue', 'tasks', ...args]);
    expect(await asClerk('--check')).toMatchObject({ code: 0, stderr: '' });
    await pool.query(`drop index ${schema}.tasks_age`);
    expect(await asClerk('--check')).toMatchObject({ code: 3 });
    const refused = await asClerk();
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/does not own .*: connect as/) });
    expect(refused.stderr).not.toContain('secret');
  });
});

test('--plan and --check together are refused', async () => {
  expect(await migrate('--plan', '--check')).toMatchObject({ code: 1 });
});
