import { beforeAll, expect, test } from 'vitest';
import type { BulkKind } from '../../../lib/storage/admin.js';
import type { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import { buriedCounts } from '../../../lib/storage/mysql/statements/status.js';
import { newestLimit } from '../../../lib/storage/reports.js';
import type { TaskSelection } from '../../../lib/storage/task-selection.js';
import { greatestId } from '../../../lib/values/attempt-id.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { useMysqlQueue } from './mysql-queue.js';

/** Rows of the table: of each hundred 80 have ended long ago, 10 wait, 10 are scheduled. */
const rows = 20_000;
/** What an operation may read besides the rows that it is about: other tables, lists, both arms of a union. */
const little = 500;
/** Of each row that something is about: its entry and itself in several steps, and its place in lists and sorts. */
const perRow = 20;

const page = { greatest: greatestId, limit: 50, payload: true };
const search = { limit: 50 };
const block = { after: '0', lastId: String(greatestId), rows: 10, cancellation: { by: null, message: '' } };

const off = { by: null, message: 'off' };
const list =
  (selection: TaskSelection) =>
  ({ admin }: MysqlDatabase) =>
    admin.list(selection, page);
const find =
  (selection: TaskSelection) =>
  ({ reports }: MysqlDatabase) =>
    reports.search(selection, search);
const run =
  (kind: BulkKind, selection: TaskSelection) =>
  ({ admin }: MysqlDatabase) =>
    admin.runBlock(kind, selection, block);

/** How many entries of tables and indexes the server reads for what operators do, counted by itself. */
export function exerciseMysqlOperatorPlans(flavour: MysqlFlavour): void {
  // A connection counts what it has read: there is one.
  const bench = useMysqlQueue(flavour, { connections: 1, filled: true });

  beforeAll(async () => {
    const statuses = ['pendente', 'agendada'];
    for (let begin = 0; begin < rows; begin += 2_000) {
      const values = Array.from({ length: 2_000 }, (_, index) => {
        const n = begin + index;
        const status = n % 100 < 80 ? 'sucesso' : statuses[n % 2];
        const days = status === 'agendada' ? -1 : 40;
        const due = { toSqlString: () => `utc_timestamp(6) - interval ${days} day + interval ${n} second` };
        return [
          `t${n % 10}`,
          `key-${n}`,
          status,
          due,
          n % 100 === 0 ? n : null,
          n % 100 === 0 ? 's' : null,
          'payload',
        ];
      });
      const columns = 'processo, chave_externa, status, data_hora, publication_id, subscriber_id, payload';
      await bench.ask(`insert into tasks (${columns}) values ?`, [values]);
    }
    await bench.ask('analyze table tasks');
  }, 120_000);

  async function readBy(work: (database: MysqlDatabase) => Promise<unknown>): Promise<number> {
    const { own } = bench.database.access;
    const count = async (): Promise<number> => {
      const answer = await own.query(`show session status like 'Handler_read%'`);
      return answer.rows.reduce((sum, row) => sum + Number(row['Value']), 0);
    };
    const before = await count();
    await work(bench.database);
    return (await count()) - before;
  }

  test.each<[string, number, (database: MysqlDatabase) => Promise<unknown>]>([
    ['listing the newest', 50, list({})],
    ['listing tasks by id', 3, list({ ids: ['5', '600', '7000'] })],
    ['a search for tasks by id', 3, find({ ids: ['5', '600', '7000'] })],
    ['a search for the newest', 50, find({})],
    ['a search by key', 1, find({ externalKey: 'key-700' })],
    ['a search by publication', 1, find({ publicationId: '700' })],
    ['the attempts of a task', 1, ({ admin }) => admin.attemptsOf('700', true)],
    ['the last attempts of a task', 1, ({ reports }) => reports.lastAttempts('700', 5)],
    ['a payload', 1, ({ reports }) => reports.payload('700', 100)],
    ['what is scheduled next', 2, ({ reports }) => reports.nextScheduled(2)],
    ['a retry', 1, ({ admin }) => admin.retry('700')],
    ['a cancellation', 1, ({ admin }) => admin.cancel({ ids: ['81'] }, off)],
    ['a cancellation by key', 1, ({ admin }) => admin.cancel({ topic: 'a', externalKey: 'key-83' }, off)],
    ['a deletion', 1, ({ admin }) => admin.delete('82')],
    [
      'a check of the newest attempts',
      1_000,
      ({ reports }) =>
        reports.check({ since: undefined, newest: 1_000, purgeMaxAgeDays: 60, timeoutMs: 10_000 }),
    ],
    ['dead tasks', 1, ({ admin }) => admin.deadTasksOf('700')],
    [
      'a block of cancellations',
      10,
      run('cancel', { ids: Array.from({ length: 10 }, (_, n) => String(n * 100 + 90)) }),
    ],
    ['a block of deletions', 10, run('delete', {})],
    [
      'a look for what can be purged',
      1_000,
      ({ upkeep }) => upkeep.findPurgeable({ olderThanDays: 30, after: '5000', rows: 1_000, blockRows: 100 }),
    ],
    [
      'a purge',
      100,
      ({ upkeep }) => upkeep.purge(Array.from({ length: 100 }, (_, n) => String(n * 100 + 150))),
    ],
    [
      'a failure of an endpoint',
      1,
      ({ endpoints }) => endpoints.noteFailure('s', 0, { failures: 1, restMs: 1_000, longestRestMs: 1_000 }),
    ],
  ])('%s reads what it is about', async (_, about, work) => {
    expect(await readBy(work)).toBeLessThan(little + about * perRow);
  });

  test('tasks that gave up and have no dead task are looked for among the newest', async () => {
    const read = await readBy(({ access }) => access.own.query(buriedCounts(access.tables)));
    expect(read).toBeLessThan(newestLimit + little);
  });

  test('a status reads what waits', async () => {
    const request = { purgeMaxAgeDays: 30, purgeable: false, ended: false };
    const waiting = rows / 5;
    const read = await readBy(({ reports }) => reports.status(request));
    expect(read).toBeLessThan(little + waiting * perRow);
  });
}
