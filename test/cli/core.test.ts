import { expect, test } from 'vitest';
import { commands } from '../../lib/cli/commands.js';
import { version } from '../../lib/version.js';
import { useDatabase } from '../support/database.js';
import { lockIsWaitedFor } from '../support/locks.js';
import { createQueue } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { runCli, spawnCli, type CliResult } from './support.js';
import { testOnPostgres } from '../support/run-database.js';

const database = await useDatabase();
await createQueue(database);
const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' };

test('the help lists every command; each has its own, which names its options', async () => {
  for (const args of [['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await runCli(args);
    expect([code, stderr]).toEqual([0, '']);
    for (const { name } of commands) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  }
  for (const { name, options = {} } of commands) {
    const answers = await Promise.all([
      runCli([name, '--help']),
      runCli(['help', name]),
      runCli(['--json', '-h', name, '--no-such-option']),
    ]);
    for (const { code, stdout, stderr } of answers) {
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(`Usage: tarefa ${name}`);
      for (const option of [...Object.keys(options), 'url', 'table', 'json']) {
        expect(stdout).toContain(`--${option}`);
      }
    }
  }
  expect(await runCli(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('an embedded server is not started in production', async () => {
  const { code, stderr } = await runCli(['status', '--url', 'embedded', '--table', 'tasks'], {
    env: { NODE_ENV: 'production' },
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining("'embedded' and NODE_ENV is 'production'")]);
});

test.each<[readonly string[], RegExp]>([
  [['puase'], /unknown command "puase": did you mean pause\?/],
  [['quux'], /unknown command "quux"\n/],
  [['help', 'resme'], /did you mean resume\?/],
  [['pause', '--topc', 'x'], /unknown option --topc: did you mean --topic\?[^]*Usage: tarefa pause/],
  [['insert', '--attempts', '3'], /unknown option --attempts: did you mean --max-attempts\?/],
  [['pause', '--zzz'], /unknown option --zzz: the options are --url, .*--subscription/],
  [['pause', '-x'], /unknown option -x/],
  [['pause', '--topic'], /--topic needs a value/],
  [['pause', '--topic', '--json'], /--topic needs a value; if the value is "--json", write --topic=--json/],
  [['pause', '--json=yes'], /--json takes no value/],
  [['pause', '--topic', 'a', '--topic', 'b'], /--topic is given twice/],
  [['pause', '--topic', 'a', '--subscription', 'b'], /not both/],
  [['pause', 'a'], /unexpected argument "a"/],
  [['pause', '--constructor'], /unknown option --constructor/],
])('%j is refused with what to do, and nothing is done', async (args, problem) => {
  const { code, stdout, stderr } = await runCli(args, { env });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(problem);
});

test('without a command it shows its help as it is, and fails: a script has forgotten something', async () => {
  const { stdout: help } = await runCli(['--help']);
  expect(help).toContain('postgres://user:password@host:port/database');
  expect(await runCli([])).toEqual({ code: 1, stdout: help, stderr: '' });
  expect(await runCli(['--json'])).toEqual({
    code: 1,
    stdout: help,
    stderr: 'tarefa: no command given\n',
  });
});

test('an option may stand before the command, and after -- nothing is one', async () => {
  const before = await runCli(['--table', 'tasks', '--json', 'pause'], { env });
  expect(before).toMatchObject({ code: 0, stdout: '{\n  "paused": []\n}\n' });
  expect(await runCli(['pause', '--', '--help'], { env })).toMatchObject({ code: 1 });
});

testOnPostgres(
  'the database and the queue come from options, else from variables; what is missing is named',
  async () => {
    const { QUEUE_TABLE, DATABASE_URL } = env;
    expect(await runCli(['pause'], { env: { QUEUE_TABLE } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /no database given: pass --url, or set DATABASE_URL, or DB_HOST/,
      ) as unknown,
    });
    expect(await runCli(['pause'], { env: { DATABASE_URL } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no queue given: pass --table or --queue, or set QUEUE_TABLE/) as unknown,
    });
    const { hostname, port, username, password, pathname } = new URL(database.url);
    const parts = {
      DB_HOST: hostname,
      DATABASE_PORT: port,
      DB_BASE: pathname.slice(1),
      DB_USER: username,
      DATABASE_PASS: password,
      QUEUE_NAME: 'tasks',
    };
    expect(await runCli(['pause'], { env: parts })).toMatchObject({ code: 0, stderr: '' });
    expect(await runCli(['pause'], { env: { ...parts, DB_BASE: undefined } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the connection is incomplete: DB_BASE/) as unknown,
    });
    const url = ['--url', database.url, '--table', 'public.tasks'];
    expect(
      await runCli(['pause', ...url], { env: { DATABASE_URL: 'postgres://nowhere:1/x' } }),
    ).toMatchObject({
      code: 0,
    });
    expect(await runCli(['pause', '--table', 'no;table'], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /these options cannot be used:\n- table "no;table" may contain only/,
      ) as unknown,
    });
  },
);

testOnPostgres(
  'who does not answer, who is refused and what is not there is said with its place, without the password',
  async () => {
    const at = (change: (url: URL) => void): string => {
      const url = new URL(database.url);
      url.password = 'hunter2-hunter2';
      change(url);
      return url.href;
    };
    const ask = (url: string, ...more: string[]): Promise<CliResult> =>
      runCli(['pause', '--url', url, '--table', 'tasks', ...more]);
    const answers = [
      [
        await ask(at((url) => (url.port = '1'))),
        /the queue 'tasks' cannot be used: no server is listening at .*:1 .*ECONNREFUSED/,
      ],
      [
        await ask(at((url) => (url.username = 'nobody_here'))),
        /cannot be used: the (password of|server does not let) the role "nobody_here"/,
      ],
      [await ask(at((url) => (url.protocol = 'oracle:'))), /must be a URL that begins with postgres/],
      [await ask('postgres://me:hunter2-hunter2@[::bad'), /cannot be read as a URL|must be a URL/],
      [await runCli([at(() => undefined), 'pause']), /unknown command "postgres:\/\/.*:\*\*\*@/],
    ] as const;
    for (const [{ code, stdout, stderr }, problem] of answers) {
      expect(stderr).toMatch(problem);
      expect([code, stdout]).toEqual([/cannot be used: the |cannot be used: no /.test(stderr) ? 2 : 1, '']);
      expect(stderr).not.toContain('hunter2');
    }
    const missing = new URL(database.url);
    missing.pathname = '/no_such_database';
    expect(await ask(missing.href)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /the database "no_such_database" does not exist .*create database "no_such_database" owner/s,
      ) as unknown,
    });
  },
);

testOnPostgres(
  'a queue that is not there, or newer than this library, is refused, and nothing is made',
  async () => {
    const missing = await runCli(['pause', '--table', 'other'], { env });
    expect(missing).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/the table \w+\.other does not exist: .*`npx tarefa migrate`/) as unknown,
    });
    const { rows } = await database.pool.query(`select to_regclass('other') as found`);
    expect(rows).toEqual([{ found: null }]);
    await database.pool.query('update tarefa_migration set version = version + 1000');
    try {
      expect(await runCli(['pause'], { env })).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/created by a newer version .*upgrade nestjs-tarefa/) as unknown,
      });
    } finally {
      await database.pool.query('update tarefa_migration set version = version - 1000');
    }
  },
);

test('built and in a process of its own it answers, and ends', async () => {
  const child = spawnCli(['pause', '--json'], env);
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(JSON.parse(child.stdout)).toEqual({ paused: [] });
  expect(child.stderr).toBe('');
  const wrong = spawnCli(['nothing'], env);
  expect((await wrong.exit).code).toBe(1);
  expect(wrong.stderr).toContain('unknown command "nothing"');
});

test('Ctrl-C ends a process: one that watches with 0, one that waits for the database with 130', async () => {
  const watching = spawnCli(['status', '--watch', '--json', '--interval', '0.1'], env);
  await until(async () => watching.stdout.trim().split('\n').length >= 2, 'it has looked twice');
  expect(await watching.kill('SIGINT')).toEqual({ code: 0, signal: null });
  expect(watching.stderr).toBe('');

  const locker = await database.pool.connect();
  try {
    await locker.query('begin; lock table tasks_paused in access exclusive mode');
    const waiting = spawnCli(['pause'], env);
    // Not the locker: on MySQL a session that locks tables may read no others.
    await lockIsWaitedFor(database.pool, 'tasks_paused');
    expect(await waiting.kill('SIGTERM')).toEqual({ code: 130, signal: null });
  } finally {
    await locker.query('rollback');
    locker.release();
  }
});

test('whoever reads may have seen enough', async () => {
  const child = spawnCli(['status', '--watch', '--json', '--interval', '0.1'], env);
  await until(async () => child.stdout !== '', 'it says something');
  child.process.stdout?.destroy();
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.stderr).toBe('');
});
