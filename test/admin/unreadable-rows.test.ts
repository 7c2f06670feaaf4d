import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { QueueAdmin } from '../../lib/index.js';
import { readableText } from '../../lib/storage/postgres/readable-text.js';
import { runCli } from '../cli/support.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';

// Rows that another program has written: each is shown as what it is, and none keeps the others from being shown.

const database = await useDatabase('SQL_ASCII');
const app = await useApp(database, { worker: false });
const admin = app.app.get(QueueAdmin);

async function insert(pool: Pool, columns: string, values: string): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks (${columns}) values (${values}) returning id::text`,
  );
  return String(rows[0]?.id);
}

test('an attempt whose bytes are no text is listed with them escaped, beside those that are text', async () => {
  const id = await insert(
    database.pool,
    'processo, chave_externa, payload, metadados, status',
    `'news', E'Jo\\xe3o', E'{"nome":"Jo\\xe3o"}', E'{"nome":"Jo\\xe3o"}', 'sucesso'`,
  );
  const other = await insert(database.pool, 'processo, chave_externa, status', `'news', 'João', 'sucesso'`);
  const { tasks } = await admin.list({ topic: 'news' });
  expect(tasks).toMatchObject([
    { id: other, externalKey: 'João', status: 'succeeded' },
    {
      id,
      externalKey: String.raw`Jo\xe3o`,
      payload: String.raw`{"nome":"Jo\xe3o"}`,
      metadata: null,
      unreadable: ['chave_externa', 'payload', 'metadados'],
    },
  ]);
  expect(tasks[0]).not.toHaveProperty('unreadable');
  expect((await admin.find(id)).current.unreadable).toEqual(['chave_externa', 'payload', 'metadados']);
});

test('a status that nobody knows stands for itself, and ids may be any', async () => {
  const ids = ['-5', '1000000000000', '9223372036854775807'];
  for (const id of ids) await insert(database.pool, 'id, processo, status', `${id}, 'far', 'xyz'`);
  const { tasks } = await admin.list({ topic: 'far' });
  expect(tasks.map(({ id, status }) => [id, status])).toEqual(ids.toReversed().map((id) => [id, 'xyz']));
  expect((await admin.find('-5')).current).toMatchObject({ id: '-5', status: 'xyz' });
  expect(await admin.counts()).toContainEqual({
    topic: 'far',
    subscriptionId: null,
    status: 'xyz',
    count: 3,
  });
  const pages: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await admin.list({ topic: 'far' }, { limit: 1, ...(after === undefined ? {} : { after }) });
    pages.push(...page.tasks.map(({ id }) => id));
    after = page.next;
    if (after === undefined) break;
  }
  expect(pages).toEqual(ids.toReversed());
});

test('metadata that is no object and times without end are shown', async () => {
  const id = await insert(
    database.pool,
    'processo, status, metadados, iniciada_em, executor',
    `'odd', 'processando', '"x"', 'infinity', 1`,
  );
  expect((await admin.find(id)).current).toMatchObject({ metadata: 'x', startedAt: new Date(8.64e15) });
  const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' };
  const shown = await runCli(['task', id], { env });
  expect(shown).toMatchObject({ code: 0, stderr: expect.not.stringContaining('error') as string });
  expect(shown.stdout).toContain('infinity');
  const { stdout } = await runCli(['task', id, '--json'], { env });
  expect(stdout).toContain('"infinity"');
  expect(stdout).not.toContain('275760');
  const status = await runCli(['status'], { env });
  expect(status).toMatchObject({ code: 0 });
  expect(status.stdout).not.toContain('could not be read');
});

test('what bytes mean is asked of the encoding', () => {
  expect(readableText('Jo\xc3\xa3o \xe3', 'SQL_ASCII')).toEqual({
    text: String.raw`João \xe3`,
    isText: false,
  });
  expect(readableText('Jo\xe3o \x80', 'WIN1252')).toEqual({ text: 'João €', isText: true });
  expect(readableText('Jo\xe3o \x81', 'WIN1252')).toEqual({ text: String.raw`João \x81`, isText: false });
});
