import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { errorTable } from '../../lib/index.js';
import { QueueEvents } from '../../lib/events.js';
import { StartAttempts } from '../../lib/assembly/start-attempts.js';
import { runCli } from '../cli/support.js';
import { startPlace } from '../../lib/storage/postgres/connections/connection-problem.js';
import { useDatabase } from '../support/database.js';
import { LogLines } from '../support/log-lines.js';
import { createQueue, startApp, type QueueAppOptions } from '../support/queue-app.js';

const role = `clerk_${randomBytes(6).toString('hex')}`;
const database = await useDatabase();
await database.pool.query(`create role ${role} login password 'secret'`);

afterAll(() => database.pool.query(`drop owned by ${role}; drop role ${role}`));

function address(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

const asClerk = (url: URL): void => {
  url.username = role;
  url.password = 'secret';
};

/** What a start says that fails, whatever the default of `connectRetryMs`. */
async function refusal(
  url: string,
  options: QueueAppOptions = {},
): Promise<{ code: string; message: string }> {
  try {
    await (await startApp({ url }, { queue: 'orders', table: 'public.tasks', ...options })).close();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('it started');
}

/** The SQL of a message: the lines that end in a semicolon. */
const sqlOf = (message: string): string[] => message.split('\n').filter((line) => line.endsWith(';'));

test.each<readonly [string, (url: URL) => void, string, RegExp]>([
  [
    'a wrong password',
    (url) => void ((url.username = role), (url.password = 'open-sesame')),
    'DATABASE_REFUSED',
    /^the database of the queue 'orders' cannot be used: the password of the role "clerk_\w+" is missing or wrong/,
  ],
  [
    'no password',
    (url) => void ((url.username = role), (url.password = '')),
    'DATABASE_REFUSED',
    /the password of the role "clerk_\w+" is missing or wrong/,
  ],
  [
    'a database that is not there',
    (url) => (url.pathname = '/no_such_database'),
    'DATABASE_REFUSED',
    /the database "no_such_database" does not exist on that server\n.*\n.*\n\ncreate database "no_such_database" owner "\w+";\n/,
  ],
  [
    'a host that is not there',
    (url) => (url.hostname = 'database.invalid'),
    'DATABASE_UNREACHABLE',
    /: (the host "database.invalid" does not exist|no name server could resolve the host "database.invalid")/,
  ],
])('%s is said with the queue, the place and what to do', async (_, change, code, problem) => {
  const url = address(change);
  // What is refused ends at once, however long a server may take.
  const options = code === 'DATABASE_UNREACHABLE' ? { connectRetryMs: 0 } : {};
  const said = await refusal(url, options);
  expect(said).toEqual({ code, message: expect.stringMatching(problem) as unknown });
  const { hostname, port, pathname, username } = new URL(url);
  expect(said.message).toContain(
    `\nhost ${hostname}, port ${port}, database "${pathname.slice(1)}", role "${username}"\n`,
  );
  expect(said.message).toMatch(new RegExp(`\\nSee .*docs/reference/errors\\.md#${code.toLowerCase()}$`));
  for (const secret of ['open-sesame', new URL(database.url).password || 'open-sesame']) {
    expect(said.message).not.toContain(secret);
  }
});

test('all that a role lacks is said as SQL, which is enough once it was run: to make tables, to work on them', async () => {
  await database.pool.query('revoke all on schema public from public; create schema shop');
  const url = address(asClerk);
  for (const [options, count] of [
    // Neither the schema may be seen nor anything be made in it.
    [{ table: 'shop.tasks' }, 1],
    [{ table: 'shop.tasks' }, 1],
    [{ table: 'absent.tasks' }, 1],
  ] as const) {
    const { code, message } = await refusal(url, options);
    expect(code).toBe('RIGHTS_MISSING');
    expect(sqlOf(message)).toHaveLength(count);
    await database.pool.query(sqlOf(message).join('\n'));
  }
  for (const table of ['shop.tasks', 'absent.tasks']) {
    await (await startApp({ url }, { queue: 'orders', table })).close();
  }

  await createQueue(database, { webhooks: true });
  const { code, message } = await refusal(url, { webhooks: true, schema: 'check' });
  expect(code).toBe('RIGHTS_MISSING');
  expect(sqlOf(message)).toEqual(
    [
      'usage on schema "public"',
      'select, insert, update, delete on "public"."tasks"',
      'select, insert, update, delete on "public"."tasks_worker"',
      'select, insert, update, delete on "public"."tasks_history"',
      'select on "public"."tasks_paused"',
      'select, insert, update on "public"."tasks_schedule"',
      'select on "public"."tarefa_migration"',
      'select, update (ativo) on "public"."tasks_subscriber"',
      'select on "public"."tasks_seal"',
      'select, insert, update on "public"."tasks_webhook"',
      'usage on sequence public.tasks_id_seq',
    ].map((what) => `grant ${what} to "${role}";`),
  );
  await database.pool.query(sqlOf(message).join('\n'));
  await (await startApp({ url }, { schema: 'check', webhooks: true })).close();

  // What belongs to somebody else cannot be changed by any grant.
  await database.pool.query('drop index tasks_successor');
  expect((await refusal(url)).message).toMatch(
    /"public"."tasks" belongs to \w+: run `npx tarefa migrate` as that role/,
  );
});

test('a server that starts while the application does is waited for, with a line for each attempt', async () => {
  const { hostname, port } = new URL(database.url);
  let isStarting = true;
  const server = createServer((client) => {
    if (isStarting) {
      isStarting = false;
      const fields = Buffer.from('SFATAL\0C57P03\0Mthe database system is starting up\0\0');
      const head = Buffer.from('E\0\0\0\0');
      head.writeInt32BE(fields.length + 4, 1);
      client.end(Buffer.concat([head, fields]));
      return;
    }
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;
  server.close();
  await once(server, 'close');

  const lines = new LogLines();
  const warn = lines.warn.bind(lines);
  lines.warn = (message, ...rest) => {
    warn(message, ...rest);
    if (!server.listening) server.listen(own, '127.0.0.1');
  };
  const url = address((one) => void ((one.hostname = '127.0.0.1'), (one.port = String(own))));
  const app = await startApp({ url }, { worker: false, logger: lines });
  await app.queue.insertTask({ topic: 'greet' });
  await app.close();
  server.close();
  const said = lines.of('warn').filter((line) => line.includes('cannot be used'));
  expect(said).toEqual([
    expect.stringMatching(
      /^the database of the queue 'tasks' cannot be used: no server is listening at 127\.0\.0\.1:\d+ \(.*\); attempt 1, next attempt in 0\.\d s, giving up in (60\.0|59\.\d) s$/,
    ),
    expect.stringMatching(/is starting or stopping \(the database system is starting up\); attempt 2, /),
  ]);
});

test('the right to connect is named as SQL, which is enough once it was run', async () => {
  const { pathname } = new URL(database.url);
  const name = pathname.slice(1);
  await database.pool.query(`revoke connect on database ${name} from public`);
  const { code, message } = await refusal(address(asClerk));
  expect(code).toBe('RIGHTS_MISSING');
  expect(sqlOf(message)).toEqual([`grant connect on database "${name}" to "${role}";`]);
  await database.pool.query(sqlOf(message).join('\n'));
  const again = await refusal(address(asClerk)).catch(() => undefined);
  expect(again?.message ?? '').not.toContain('grant connect');
});

test.each([
  ['CheckMyDatabase', /\ngrant connect on database "shop" to "ana";\n/],
  ['aclcheck_error', /^Do what PostgreSQL asks for\.$/],
] as const)('a refusal by %s is known by its routine, in whatever language it is worded', (routine, todo) => {
  const place = startPlace('postgres://ana@db/shop');
  for (const message of ['keine Berechtigung für Datenbank shop', 'permission denied for database shop']) {
    const problem = place.problemOf(Object.assign(new Error(message), { code: '42501', routine }));
    expect(problem?.code).toBe('RIGHTS_MISSING');
    expect(problem?.todo).toMatch(todo);
  }
});

test.each([
  [
    'is too old',
    `current_setting(name text) returns text language sql as $$
      select case name when 'server_version_num' then '120022' when 'server_version' then '12.22' else pg_catalog.current_setting(name) end
    $$`,
    'the server is PostgreSQL 12.22; a queue needs PostgreSQL 13 or newer.',
  ],
  [
    'only speaks like PostgreSQL',
    `version() returns text language sql as $$ select 'CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu)' $$`,
    'the server is CockroachDB, which ignores advisory locks',
  ],
])('a server that %s is refused: at a start, and before its tables are changed', async (_, told, text) => {
  const name = new URL(database.url).pathname.slice(1);
  // What stands before `pg_catalog` is called in place of what is in it.
  await database.pool.query(`
    create schema old;
    create function old.${told};
    alter database ${name} set search_path = old, pg_catalog, public`);
  try {
    for (const schema of ['create', 'check'] as const) {
      expect(await refusal(database.url, { schema })).toMatchObject({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining(text) as unknown,
      });
    }
    for (const command of ['migrate', 'adopt']) {
      const args = [command, ...(command === 'adopt' ? ['public.tasks'] : ['--table', 'public.tasks'])];
      const { code, stderr } = await runCli([...args, '--url', database.url]);
      expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(text)]);
    }
  } finally {
    await database.pool.query(`alter database ${name} reset search_path; drop schema old cascade`);
  }
});

test('a start that has failed elsewhere waits for no server', async () => {
  const events = new QueueEvents();
  const failed = new AbortController();
  events.on('warning', () => failed.abort());
  const attempts = new StartAttempts({ queue: 'orders', connectRetryMs: 3_600_000 }, events, failed.signal);
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  await expect(
    attempts.run(startPlace('postgres://ana@db/shop'), () => Promise.reject(refused)),
  ).rejects.toMatchObject({
    code: 'DATABASE_UNREACHABLE',
  });
});

test('every code has a place in the documents that errors lead to', () => {
  const text = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
  for (const code of Object.keys(errorTable)) expect(text).toContain(`\n### ${code}\n`);
});
