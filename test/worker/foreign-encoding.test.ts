import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

// A database whose encoding has no emoji refuses texts that JavaScript can hold.
let server: TestDatabase;
let url: string;

beforeAll(async () => {
  server = await createDatabase();
  const address = new URL(server.url);
  const name = `${address.pathname.slice(1)}_latin1`;
  const { rows } = await server.pool.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // The provider of the server's default locale may know UTF-8 only.
  const provider = (rows[0]?.version ?? 0) >= 150_000 ? 'locale_provider libc' : '';
  await server.pool.query(
    `create database ${name} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' ${provider}`,
  );
  address.pathname = `/${name}`;
  url = address.href;
});
afterAll(async () => {
  await server.pool.query(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
  await server.drop();
});

test('a text that the database cannot store neither stops its task nor those of the same batch', async () => {
  class Talking {
    @TaskHandler('succeed')
    succeed(text: string): string {
      return text;
    }
    @TaskHandler('fail')
    fail(text: string): void {
      throw new Error(text === 'smile' ? '😀' : text);
    }
    @TaskHandler('smile')
    smile(): string {
      return '😀';
    }
  }
  const { queue, close } = await startApp({ url }, { handlers: [Talking], maxAttempts: 1 });
  const ids = await queue.insertTasks([
    { topic: 'succeed', payload: 'olá' },
    { topic: 'smile' },
    { topic: 'succeed', payload: 'é' },
    { topic: 'fail', payload: 'não' },
    { topic: 'fail', payload: 'smile' },
    { topic: 'fail', payload: 'às' },
  ]);
  const client = new Client({ connectionString: url });
  await client.connect();
  const rows = await until(async () => {
    const live = await client.query<{ id: string; status: string; mensagem: string }>(
      `select id, status, mensagem from tasks where not dead and status in ('sucesso', 'falha') order by id`,
    );
    return live.rows.length === ids.length && live.rows;
  }, 'all to end');
  await client.end();
  await close();
  const outcomes = Object.fromEntries(rows.map(({ id, mensagem }) => [ids.indexOf(id), mensagem]));
  expect(outcomes).toEqual({
    0: 'olá',
    1: expect.stringMatching(/no equivalent in encoding "LATIN1" \(no attempts left\)$/),
    2: 'é',
    3: 'não (no attempts left)',
    4: 'failed; what it failed with could not be stored (no attempts left)',
    5: 'às (no attempts left)',
  });
});
