import { Injectable } from '@nestjs/common';
import { afterAll, expect, test } from 'vitest';
import { Subscriber } from '../../lib/index.js';
import { runCli } from '../cli/support.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { startApp, type QueueAppOptions } from '../support/queue-app.js';

const database = await useMysqlDatabase('mariadb');
const user = 'clerk_e';

@Injectable()
class Declaring {
  @Subscriber('declared', { topic: 'placed' })
  take(): void {}
}

await database.pool.query(
  `drop user if exists '${user}'@'127.0.0.1'; create user '${user}'@'127.0.0.1' identified by 'secret'`,
);

afterAll(() => database.pool.query(`drop user if exists '${user}'@'127.0.0.1'`));

function address(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

/** What a start says that fails. */
async function refusal(
  url: string,
  options: QueueAppOptions = {},
): Promise<{ code: string; message: string }> {
  try {
    await (await startApp({ url }, { queue: 'orders', table: 'tasks', ...options })).close();
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { code, message };
  }
  throw new Error('it started');
}

const asClerk = (url: URL, password = 'secret'): void => {
  url.username = user;
  url.password = password;
};

test.each<readonly [string, (url: URL) => void, string, RegExp]>([
  [
    'a wrong password',
    (url) => asClerk(url, 'open-sesame'),
    'DATABASE_REFUSED',
    /^the database of the queue 'orders' cannot be used: the password of the user `clerk_e` is missing or wrong/,
  ],
  [
    'a database that is not there',
    (url) => (url.pathname = '/no_such_database'),
    'DATABASE_REFUSED',
    /the database `no_such_database` does not exist on that server\n.*\n.*\n\ncreate database `no_such_database`;\n/,
  ],
  [
    'a database without rights',
    (url) => asClerk(url),
    'RIGHTS_MISSING',
    /the user `clerk_e` may not use the database/,
  ],
  [
    'a host that is not there',
    (url) => (url.hostname = 'database.invalid'),
    'DATABASE_UNREACHABLE',
    /: (the host "database.invalid" does not exist|no name server could resolve the host "database.invalid")/,
  ],
  [
    'a port where nobody listens',
    (url) => (url.port = '1'),
    'DATABASE_UNREACHABLE',
    /: no server is listening at 127\.0\.0\.1:1 /,
  ],
])('%s is said with the queue, the place and what to do', async (_, change, code, problem) => {
  const url = address(change);
  // What is refused ends at once, however long a server may take.
  const options = code === 'DATABASE_UNREACHABLE' ? { connectRetryMs: 0 } : {};
  const said = await refusal(url, options);
  expect(said).toEqual({ code, message: expect.stringMatching(problem) as unknown });
  const { hostname, port, pathname, username } = new URL(url);
  expect(said.message).toContain(
    `\nhost ${hostname}, port ${port}, database \`${pathname.slice(1)}\`, user \`${username}\`\n`,
  );
  expect(said.message).toMatch(new RegExp(`\\nSee .*docs/reference/errors\\.md#${code.toLowerCase()}$`));
  expect(said.message).not.toContain('open-sesame');
});

test('rights that are missing are said as SQL, which is enough once it was run', async () => {
  const url = address(asClerk);
  await database.pool.query(`grant select on ${database.name}.* to '${user}'@'127.0.0.1'`);
  const { code, message } = await refusal(url);
  expect(code).toBe('RIGHTS_MISSING');
  const statements = message.split('\n').filter((line) => line.endsWith(';'));
  expect(statements.length).toBeGreaterThan(0);
  await database.pool.query(statements.join('\n'));
  await (await startApp({ url }, { queue: 'orders', table: 'tasks' })).close();
});

test('where the tables are there, one list has them all, and an action that is refused has its own', async () => {
  const url = address(asClerk);
  await database.pool.query(
    `revoke all privileges, grant option from '${user}'@'127.0.0.1'; grant select on ${database.name}.* to '${user}'@'127.0.0.1'`,
  );
  const options = { schema: 'check', handlers: [Declaring] } as const;
  const { message } = await refusal(url, options);
  const statements = message.split('\n').filter((line) => line.endsWith(';'));
  expect(statements).toContainEqual(expect.stringMatching(/^grant insert on .*`tasks_subscriber` to /));
  await database.pool.query(statements.join('\n'));
  await (await startApp({ url }, { queue: 'orders', table: 'tasks', ...options })).close();
  // What an operator does takes more.
  const { stderr } = await runCli(['pause', '--topic', 'a'], {
    env: { DATABASE_URL: url, QUEUE_NAME: 'orders', QUEUE_TABLE: 'tasks' },
  });
  expect(stderr).toMatch(/:\n\ngrant insert, delete on `\w+`\.`tasks_paused` to 'clerk_e'@'127\.0\.0\.1';\n/);
});
