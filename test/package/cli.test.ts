import { execFile, type ExecFileException } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { until } from '../support/waiting.js';
import { startDebianPostgres, type DebianServer } from './debian-postgres.js';
import { npm, outsideNpm } from './npm.js';
import { makeProject, packLibrary } from './packed.js';

// Near a minute: each command is a process, as npx starts it from the package, on the run's server and on Debian's. It is the one
// place where the command that operators type is what runs.

interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let project: string;
let debian: DebianServer | undefined;

/** With the package's command linked as npm links it. */
beforeAll(async () => {
  [project, debian] = await Promise.all([
    packLibrary().then((library) => makeProject(library)),
    startDebianPostgres(),
  ]);
  await npm(['rebuild', '--ignore-scripts', '--offline'], project);
}, 180_000);
afterAll(() => debian?.stop());

function call(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { cwd: project, env: { ...outsideNpm(), DATABASE_URL: '', ...env } };
    const child = execFile(program, [...args], options, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    child.stdin?.end();
  });
}

const tarefa = (args: string, env?: NodeJS.ProcessEnv): Promise<Answer> =>
  call(join(project, 'node_modules/.bin/tarefa'), args.split(' '), env);

test('npx finds the command, which can be run', async () => {
  const { code, stdout } = await call('npx', ['--no-install', 'tarefa', '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Inspects and manages a queue[^]*\n {2}migrate +/);
  const { mode } = await stat(join(project, 'node_modules/.bin/tarefa'));
  expect(mode & 0o111).toBe(0o111);
});

test('npx passes on how a command ended, and what it reads from standard input', async () => {
  expect(await call('npx', ['--no-install', 'tarefa', 'migrat'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('did you mean migrate?') as string,
  });
  expect(await call('npx', ['--no-install', 'tarefa', 'insert', '--file', '-', '--dry-run'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^0 tasks would be inserted/) as string,
  });
});

describe.each(['the run', 'Debian'])('on the server of %s', (which) => {
  let client: Client;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    // Where Debian's is not installed the tour is made once more on the other.
    const server = (which === 'Debian' && debian?.url) || inject('databaseUrl');
    const url = new URL(server);
    url.pathname = `/tour_${which === 'Debian' ? 'debian' : 'run'}_${process.pid}`;
    const admin = new Client({ connectionString: server });
    await admin.connect();
    await admin.query(`create database ${url.pathname.slice(1)}`);
    await admin.end();
    client = new Client({ connectionString: url.href });
    await client.connect();
    env = { DATABASE_URL: url.href, QUEUE_TABLE: 'shop_queue' };
  });
  afterAll(async () => {
    await client.end();
    const admin = new Client({
      connectionString: (which === 'Debian' && debian?.url) || inject('databaseUrl'),
    });
    await admin.connect();
    await admin.query(`drop database ${new URL(env['DATABASE_URL'] ?? '').pathname.slice(1)} with (force)`);
    await admin.end();
  });

  const done = async (args: string): Promise<string> => {
    const { code, stdout, stderr } = await tarefa(args, env);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    return stdout;
  };
  const json = async <T>(args: string): Promise<T> => JSON.parse(await done(`${args} --json`)) as T;

  test('the script of db-gen makes a queue that is up to date', async () => {
    await client.query(await done('db-gen jobs orders'));
    expect(await done('migrate --check --table jobs.orders')).toContain('nothing to do');
  });

  test('migrate makes one as well', async () => {
    expect(await tarefa('migrate --check', env)).toMatchObject({ code: 3 });
    expect(await done('migrate --plan')).toContain('not found');
    await done('migrate --webhooks');
    await done('migrate --check --webhooks');
  });

  test('tasks are inserted, looked at, cancelled, paused and purged', async () => {
    const id = (await done('insert --topic send-receipt --payload {"n":1}')).trim();
    await writeFile(join(project, 'tasks.ndjson'), '{"topic":"pack"}\r\n{"topic":"pack","priority":80}\n');
    expect(await done('insert --file tasks.ndjson')).toMatch(/^2 tasks inserted/);
    await writeFile(join(project, 'wrong.ndjson'), '{"topic":"pack"}\n{"topik":"pack"}\n');
    expect(await tarefa('insert --file wrong.ndjson', env)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^line 2: .*did you mean 'topic'\?\nnothing was inserted/) as string,
    });
    expect(await done('tasks --topic pack')).toMatch(/pack[^]*pack/);
    expect(await done(`task ${id} --payload`)).toContain('{"n":1}');
    await done(`cancel ${id}`);
    expect(await tarefa(`cancel ${id}`, env)).toMatchObject({ code: 2 });
    await done('pause --topic pack');
    expect(await done('pause')).toContain('topic pack');
    await done('resume --topic pack');
    await done('purge --older-than 1 --dry-run');
    expect(await done('status')).toContain('pack');
    const { rows } = await client.query('select count(*)::int as n from shop_queue');
    expect(rows).toEqual([{ n: 3 }]);
  });

  test('subscriptions are added, and publications reach them', async () => {
    await done('subscriptions add index order-placed');
    await done('subscriptions add partner order-placed --webhook https://partner.example/hook');
    await done('subscriptions disable partner');
    expect(await done('subscriptions list')).toMatch(/index[^]*partner/);
    const { id } = await json<{ id: string }>('publish --topic order-placed --payload 1');
    expect(id).toMatch(/^\d+$/);
    await done('subscriptions remove partner');
    expect(await tarefa('subscriptions remove partner', env)).toMatchObject({ code: 2 });
  });

  test('halt is heard by whoever listens', async () => {
    const heard: string[] = [];
    client.on('notification', ({ payload = '' }) => heard.push(payload));
    await client.query('listen shop_queue');
    await done('halt');
    expect(await until(async () => heard.length > 0 && heard, 'the HALT')).toEqual(['HALT']);
  });

  test('mistakes are told apart by their exit code, and passwords not shown', async () => {
    const url = new URL(env['DATABASE_URL'] ?? '');
    url.password = 'secret-of-mine';
    const refused = await tarefa('status', { ...env, DATABASE_URL: url.href });
    const unreachable = await tarefa('status --url postgres://me:secret-of-mine@127.0.0.1:1/none', env);
    const missing = await tarefa('status --table nothing', env);
    const wrong = await tarefa('status --tabel shop_queue', env);
    expect([refused, unreachable, missing, wrong].map(({ code }) => code)).toEqual([2, 2, 2, 1]);
    for (const { stdout, stderr } of [refused, unreachable, missing, wrong]) {
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^tarefa status: \S/);
      expect(stderr).not.toMatch(/secret-of-mine|\n {4}at /);
    }
  });
});
