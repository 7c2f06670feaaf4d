import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { QueueModuleOptions } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { forkChild } from '../../support/processes.js';

const database = await useDatabase();

/** How booting ended in a process of its own, which had nothing left that kept it from ending. */
async function boot(options: QueueModuleOptions): Promise<Record<string, unknown>> {
  const child = forkChild('boot', { env: { QUEUE_OPTIONS: JSON.stringify(options) } });
  const report = await child.message(() => true);
  expect(await child.exit).toEqual({ code: 0, signal: null });
  return report;
}

function address(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test.each(['127.0.0.1', 'localhost'])(
  'a server at %s that is not there is said, and nothing stays open',
  async (host) => {
    const port = await unusedPort();
    const connection = address((url) => {
      url.hostname = host;
      url.port = String(port);
    });
    expect(await boot({ connection, queue: 'tasks', connectRetryMs: 0 })).toMatchObject({
      type: 'failed',
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringMatching(new RegExp(`ECONNREFUSED.*:${port}`)),
    });
  },
);

test('a database that is not there is said, and nothing stays open', async () => {
  const connection = address((url) => (url.pathname = '/no_such_database'));
  expect(await boot({ connection, queue: 'tasks' })).toMatchObject({
    type: 'failed',
    message: expect.stringContaining('the database "no_such_database" does not exist'),
  });
});

test('a wrong password is said without the password, and nothing stays open', async () => {
  const connection = address((url) => (url.password = 'open-sesame'));
  const report = await boot({ connection, queue: 'tasks' });
  expect(report).toMatchObject({ type: 'failed', message: expect.stringContaining('password') });
  expect(JSON.stringify(report)).not.toContain('open-sesame');
});

test('a schema that cannot be used leaves nothing open', async () => {
  expect(await boot({ connection: database.url, queue: 'tasks', schema: 'check' })).toMatchObject({
    code: 'SCHEMA_MISSING',
  });
});

test('an application that is closed leaves nothing open', async () => {
  expect(await boot({ connection: database.url, queue: 'tasks' })).toMatchObject({ type: 'closed' });
});
