import { expect, test } from 'vitest';
import { readSelection, type TaskFilter } from '../../../lib/admin/task-filter.js';
import { greatestId } from '../../../lib/values/attempt-id.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { useMysqlQueue } from './mysql-queue.js';

/** What searches and lists promise of a table in MySQL or MariaDB. */
export function exerciseMysqlSearch(flavour: MysqlFlavour): void {
  const bench = useMysqlQueue(flavour);

  /** Every page of it. */
  async function all(filter: TaskFilter, limit: number): Promise<readonly string[]> {
    const ids: string[] = [];
    let after: string | undefined;
    let searched = 0;
    do {
      const page = await bench.database.reports.search(readSelection(filter), { limit, after });
      expect(page.tasks.length).toBeLessThanOrEqual(limit);
      expect(page.searched).toBeGreaterThanOrEqual(searched);
      ids.push(...page.tasks.map(({ id }) => id));
      ({ next: after, searched } = page);
      expect(after !== undefined || searched === 1).toBe(true);
    } while (after !== undefined);
    return ids;
  }

  /** Rows of the table that meet a condition, the newest first. */
  async function idsWhere(condition: string): Promise<readonly string[]> {
    return (await bench.ask(`select id from tasks where ${condition} order by id desc`)).map(({ id }) =>
      String(id),
    );
  }

  /** Ended tasks of all kinds, some that wait, and a gap of a million ids. */
  async function fill(): Promise<void> {
    const ended = Array.from({ length: 600 }, (_, n) => [
      ['mail', 'stock', 'search'][n % 3],
      `key-${n % 100}`,
      n % 7,
      `line ${n}${n % 100 === 0 ? ' 100% _odd_ ÄÖ \\ end' : ''}`,
      n % 50 === 0 ? 'falha' : 'sucesso',
      `2026-01-01 00:00:${String(n % 60).padStart(2, '0')}`,
      n % 10 === 0 ? 'crm' : null,
      n % 10 === 0 ? n : null,
      n % 100 === 0 ? 1 : 0,
      JSON.stringify({ text: `"${n}" is\nit` }),
    ]);
    const statuses = ['pendente', 'agendada', 'processando'];
    const live = Array.from({ length: 30 }, (_, n) => [
      'mail',
      'key-1',
      null,
      null,
      statuses[n % 3],
      `${n % 3 === 1 ? 2099 : 2026}-01-02 00:00:00`,
      null,
      null,
      0,
      null,
    ]);
    const columns =
      'processo, chave_externa, tenant, mensagem, status, data_hora, subscriber_id, publication_id, reenfileirado, payload';
    await bench.ask(`insert into tasks (${columns}) values ?`, [ended]);
    const [row] = await bench.ask('select max(id) + 1000000 as id from tasks');
    await bench.ask('insert into tasks set ?', [{ id: row?.['id'], status: 'falha' }]);
    await bench.ask(`insert into tasks (${columns}) values ?`, [live]);
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
    [
      'a topic that waits',
      { status: 'scheduled', topic: 'mail' },
      `status = 'agendada' and processo = 'mail'`,
    ],
    ['no topic', { topic: null }, 'processo is null'],
    ['a topic', { topic: 'stock' }, `processo = 'stock'`],
    ['a topic in other letters', { topic: 'STOCK' }, 'false'],
    ['a subscription', { subscriptionId: 'crm' }, `subscriber_id = 'crm'`],
    ['a tenant', { tenant: '3' }, 'tenant = 3'],
    ['a key that has failed and succeeded', { externalKey: 'key-0' }, `chave_externa = 'key-0'`],
    ['a key of more than one page', { externalKey: 'key-1' }, `chave_externa = 'key-1'`],
    [
      'a key and a status',
      { externalKey: 'key-1', status: 'processing' },
      `chave_externa = 'key-1' and status = 'processando'`,
    ],
    ['a publication', { publicationId: '400' }, 'publication_id = 400'],
    [
      'text of the message, with characters that mean something in patterns',
      { message: '100% _ODD_ äö \\' },
      `mensagem like '%100!%%' escape '!'`,
    ],
    ['text that only looks like a pattern', { message: '100_ ' }, 'false'],
    ['text of the payload as it was written', { payload: '"7\\" IS' }, `mensagem like 'line 7 %'`],
    ['tasks as they stand now', { latest: true, status: 'failed' }, `status = 'falha' and not reenfileirado`],
    ['a time', { since: new Date('2026-01-02T00:00:00Z') }, `data_hora >= '2026-01-02'`],
    ['nobody', { topic: 'nobody' }, 'false'],
  ])('%s: every row once, whatever the size of a page', async (_what, filter, condition) => {
    await fill();
    const expected =
      filter.payload === undefined
        ? await idsWhere(condition)
        : await idsWhere(`payload like '%"7\\\\\\\\" is%' or payload like '%\\\\\\\\"7\\\\\\\\" is%'`);
    for (const limit of [7, 100]) {
      expect((await all(filter, limit)).toSorted()).toEqual(expected.toSorted());
    }
    const listed = await bench.database.admin.list(readSelection(filter), {
      greatest: greatestId,
      limit: 10_000,
      payload: false,
    });
    expect(listed.map(({ id }) => id)).toEqual(expected);
  });

  test('what has ended is listed from the newest on', async () => {
    await fill();
    expect(await all({ topic: 'search' }, 40)).toEqual(await idsWhere(`processo = 'search'`));
  });

  test('tasks are found by the id of any of their attempts, with all of these', async () => {
    await fill();
    const [first] = await bench.insert([{ processo: 'mail', status: 'falha', payload: 'an apple' }]);
    const next = { processo: 'mail', status: 'falha', id_inicial: first, id_anterior: first, tentativa: 2 };
    const [second] = await bench.insert([next]);
    for (const ids of [[first], [second], [first, second], [first, '999999999']]) {
      const filter = { ids: ids.map(String) };
      expect(await all(filter, 10)).toEqual([second, first]);
      expect(await all({ ...filter, payload: 'APPLE' }, 10)).toEqual([second, first]);
      expect(await all({ ...filter, topic: 'stock' }, 10)).toEqual([]);
    }
  });

  test('a payload is searched as the JSON of a delivery holds it, and not beyond 64 kB', async () => {
    const text = 'say "hi"\n';
    const [plain, delivery, large] = await bench.insert([
      { status: 'sucesso', payload: text },
      { status: 'sucesso', payload: JSON.stringify({ payload: text }), subscriber_id: 'crm' },
      { status: 'sucesso', payload: text + 'x'.repeat(65_536) },
    ]);
    expect(await all({ payload: text.toUpperCase() }, 10)).toEqual([delivery, plain]);
    expect(await all({ payload: JSON.stringify(text) }, 10)).toEqual([]);
    expect(await all({ payload: 'xxx' }, 10)).not.toContain(large);
  });

  test('what is inserted while somebody pages is not met, and nothing is met twice', async () => {
    await fill();
    const { reports } = bench.database;
    const first = await reports.search({ topic: 'mail' }, { limit: 10 });
    await bench.insert([{ processo: 'mail' }]);
    const second = await reports.search({ topic: 'mail' }, { limit: 10, after: first.next });
    const both = [...first.tasks, ...second.tasks].map(({ id }) => id);
    expect(new Set(both).size).toBe(20);
    expect(both).toEqual((await idsWhere(`processo = 'mail'`)).slice(1, 21));
  });

  test('ids of 64 bits are what they are', async () => {
    const big = greatestId - 1n;
    await bench
      .insert([{ id: String(big), status: 'sucesso', tenant: String(greatestId) }, {}])
      .catch(() => []);
    expect(await all({ tenant: String(greatestId) }, 10)).toEqual([String(big)]);
    expect(await all({ tenant: String(greatestId - 1n) }, 10)).toEqual([]);
    expect(await bench.database.admin.attemptsOf(String(big - 1n), false)).toEqual([]);
    expect(await bench.database.admin.attemptsOf(String(big), false)).toHaveLength(1);
    // The next id would be none.
    await bench.ask('delete from tasks; alter table tasks auto_increment = 1');
  });

  test.each(['', 'x', '--1', 'f', '1; drop table tasks', '99999999999999999999'])(
    'a place %j is refused',
    async (after) => {
      const refused = bench.database.reports.search({}, { limit: 10, after });
      await expect(refused).rejects.toThrow(/must be `next` of a page/);
    },
  );
}
