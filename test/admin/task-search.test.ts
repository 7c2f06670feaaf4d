import { beforeAll, expect, test } from 'vitest';
import { searchTasks } from '../../lib/storage/postgres/reports/task-search.js';
import { readSelection, type TaskFilter } from '../../lib/admin/task-filter.js';
import { inTransaction } from '../../lib/storage/postgres/connections/own-pool.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import type { RunTransaction } from '../../lib/storage/postgres/partitions/short-transaction.js';
import type { SearchPage, SearchResult } from '../../lib/storage/reports.js';
import type { TaskSelection } from '../../lib/storage/task-selection.js';
import { createQueue } from '../support/queue-app.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const tables = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });
let statements: string[] = [];

beforeAll(async () => {
  await createQueue(bench.database);
});

const search = (selection: TaskSelection, page: SearchPage): Promise<SearchResult> =>
  searchTasks(tables, transaction, selection, page);

const transaction: RunTransaction = (work) =>
  inTransaction(bench.pool, (tx) =>
    work({
      query: (text, values) => {
        statements.push(text);
        return tx.query(text, values);
      },
    }),
  );

/** Every page of it, and how many there were. */
async function all(filter: TaskFilter, limit = 50): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let after: string | undefined;
  let searched = 0;
  for (let pages = 1; ; pages += 1) {
    const page = await search(readSelection(filter), { limit, after });
    expect(page.tasks.length).toBeLessThanOrEqual(limit);
    expect(page.searched).toBeGreaterThanOrEqual(searched);
    ids.push(...page.tasks.map(({ id }) => id));
    ({ next: after, searched } = page);
    expect(after !== undefined || searched === 1).toBe(true);
    if (after === undefined) return { ids, pages };
  }
}

/** Rows of the table that meet a condition, the newest first. */
async function idsWhere(condition: string): Promise<string[]> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `select id from tasks where ${condition} order by id desc`,
  );
  return rows.map(({ id }) => id);
}

/** Thousands of ended tasks of all kinds, some that wait, and a gap of a million ids. */
async function fill(): Promise<void> {
  await bench.pool.query(`
    insert into tasks (processo, chave_externa, tenant, mensagem, status, data_hora, subscriber_id, publication_id, reenfileirado)
    select (array['mail', 'stock', 'search'])[1 + n % 3], 'key-' || n % 500, n % 7, 'line ' || n || case when n % 1000 = 0 then ' 100% _odd_' else '' end,
      case when n % 50 = 0 then 'falha' else 'sucesso' end, now() - (5000 - n) * interval '1 second',
      case when n % 10 = 0 then 'crm' end, case when n % 10 = 0 then n end, n % 100 = 0
    from generate_series(1, 5000) n`);
  await bench.pool.query(`select setval('tasks_id_seq', last_value + 1000000) from tasks_id_seq`);
  await bench.pool.query(`
    insert into tasks (processo, chave_externa, status, data_hora, executor)
    select 'mail', 'key-1', (array['pendente', 'agendada', 'processando'])[1 + n % 3], now() + interval '1 hour' * (n % 3 - 0.5), 1
    from generate_series(1, 30) n`);
  await bench.pool.query(`insert into tasks (status) values ('pendente'), ('falha')`);
}

test.each<[string, TaskFilter, string]>([
  ['nothing', {}, 'true'],
  ['a status', { status: 'failed' }, `status = 'falha'`],
  [
    'statuses that have ended and that wait',
    { status: ['failed', 'pending'] },
    `status in ('falha', 'pendente')`,
  ],
  [
    'what waits or runs',
    { status: ['pending', 'scheduled', 'processing'] },
    `status in ('pendente', 'agendada', 'processando')`,
  ],
  ['a topic that waits', { status: 'scheduled', topic: 'mail' }, `status = 'agendada' and processo = 'mail'`],
  ['no topic', { topic: null }, 'processo is null'],
  ['a topic', { topic: 'stock' }, `processo = 'stock'`],
  ['a subscription', { subscriptionId: 'crm' }, `subscriber_id = 'crm'`],
  ['a tenant', { tenant: '3' }, 'tenant = 3'],
  ['a key that has failed, waits and succeeded', { externalKey: 'key-0' }, `chave_externa = 'key-0'`],
  ['a key of more than one page', { externalKey: 'key-1' }, `chave_externa = 'key-1'`],
  [
    'a key and a status',
    { externalKey: 'key-1', status: 'processing' },
    `chave_externa = 'key-1' and status = 'processando'`,
  ],
  ['a publication', { publicationId: '4000' }, 'publication_id = 4000'],
  [
    'text of the message, with characters that mean something in patterns',
    { message: '100% _ODD_' },
    `mensagem like '%100%!% !_odd!_' escape '!'`,
  ],
  [
    'tasks as they stand now',
    { latest: true, status: 'failed' },
    `status = 'falha' and reenfileirado is not true`,
  ],
  [
    'a time',
    { since: new Date(Date.now() - 1_000_000) },
    `data_hora >= '${new Date(Date.now() - 1_000_000).toISOString()}'`,
  ],
  ['nobody', { topic: 'nobody' }, 'false'],
])('%s: every row once, whatever the size of a page', async (_what, filter, condition) => {
  await fill();
  const expected = (await idsWhere(condition)).toSorted();
  for (const limit of [7, 100]) {
    const { ids } = await all(filter, limit);
    expect(ids.toSorted()).toEqual(expected);
  }
});

test('what has ended is listed from the newest on', async () => {
  await fill();
  const { ids } = await all({ topic: 'search' }, 40);
  expect(ids).toEqual(await idsWhere(`processo = 'search'`));
});

test('what is inserted while somebody pages is not met, and nothing is met twice', async () => {
  await fill();
  const first = await search({ topic: 'mail' }, { limit: 10 });
  await bench.pool.query(`insert into tasks (processo) values ('mail')`);
  const second = await search({ topic: 'mail' }, { limit: 10, after: first.next });
  const both = [...first.tasks, ...second.tasks].map(({ id }) => id);
  expect(new Set(both).size).toBe(20);
  expect(both).toEqual((await idsWhere(`processo = 'mail'`)).slice(1, 21));
});

test('an empty table is searched at once', async () => {
  expect(await search({ topic: 'mail' }, { limit: 10 })).toEqual({
    tasks: [],
    next: undefined,
    searched: 1,
  });
});

test.each(['', 'x', '--1', 'f', '1; drop table tasks', '99999999999999999999'])(
  'a place %j is refused',
  async (after) => {
    await expect(search({}, { limit: 10, after })).rejects.toThrow(/must be `next` of a page/);
  },
);

test('every statement walks an index, on a table that was empty when it was planned', async () => {
  await fill();
  statements = [];
  await all({ status: 'pending' });
  await all({ topic: 'nobody' });
  await all({ externalKey: 'key-7' });
  await all({ publicationId: '10' });
  const looks = [...new Set(statements.filter((text) => text.startsWith('-- name: search_')))];
  expect(looks.length).toBeGreaterThanOrEqual(5);
  for (const text of looks) {
    const values = parametersOf(text);
    const plan = await inTransaction(bench.pool, async (tx) => {
      await tx.query('set local enable_seqscan = off');
      if (text.includes('search_range'))
        await tx.query('set local enable_bitmapscan = off; set local enable_sort = off');
      const { rows } = await tx.query(`explain ${text}`, values);
      return rows.map((row) => String(row['QUERY PLAN'])).join('\n');
    });
    expect(plan, `of ${text}`).not.toContain('Seq Scan');
    expect(plan, `of ${text}`).toContain('Index');
  }
});

/** Some that fit. */
function parametersOf(text: string): unknown[] {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const known: Readonly<Record<string, unknown[]>> = {
    search_range: ['9000000000', '1', 50],
    search_ids: [['1', '2'], '9000000000', 50],
    search_indexed: ['9000000000', 50],
  };
  const name = /-- name: (\w+)/.exec(text)?.[1] ?? '';
  return [...(known[name] ?? []), ...Array<string>(10).fill('1')].slice(0, count);
}
