import { createConnection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { encodeTask, type TaskInput } from '../../../lib/client/task-input.js';
import { MysqlImportTransactions } from '../../../lib/storage/mysql/import-transactions.js';
import type { NumberedTask } from '../../../lib/storage/task-import.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { untilListed } from '../../support/listed-transactions.js';
import { until } from '../../support/waiting.js';
import { ago, useMysqlQueue } from './mysql-queue.js';

const day = 86_400;

/** What a purge and an import promise of a table in MySQL or MariaDB. */
export function exerciseMysqlPurge(flavour: MysqlFlavour): void {
  const bench = useMysqlQueue(flavour);
  const old = { processo: 'a', status: 'sucesso', data_hora: ago(40 * day) };
  const look = { olderThanDays: 30, after: undefined, rows: 100, blockRows: 100 };

  const idsLeft = async (): Promise<readonly string[]> =>
    (await bench.ask('select id from tasks order by id')).map(({ id }) => String(id));

  test('a purge deletes what a look finds, and waits for nobody', async () => {
    const ids = await bench.insert([old, old, { ...old, data_hora: ago(day) }, { processo: 'a' }]);
    const other = await createConnection({ uri: bench.server.url, multipleStatements: true });
    onTestFinished(() => other.destroy());
    await other.query('start transaction; select 1 from tasks where id = ? for update', [ids[0]]);
    const { blocks, keptFrom } = await bench.database.upkeep.findPurgeable(look);
    expect([blocks, keptFrom]).toEqual([[[ids[0], ids[1]]], ids[2]]);
    expect(await bench.database.upkeep.purge(blocks[0] ?? [])).toBe(1);
    await other.query('rollback');
    expect(await bench.database.upkeep.purge(blocks[0] ?? [])).toBe(1);
    expect(await idsLeft()).toEqual(ids.slice(2));
  });

  test('a task that is retried between look and purge stays, with all its attempts', async () => {
    const [first = ''] = await bench.insert([{ ...old, status: 'falha' }]);
    const { blocks } = await bench.database.upkeep.findPurgeable(look);
    expect(blocks.flat()).toEqual([first]);
    const again = await bench.database.admin.retry(first);
    expect(await bench.database.upkeep.purge(blocks.flat())).toBe(0);
    expect(await idsLeft()).toEqual([first, again]);
  });

  test('replays, dead chains and their attempts are one family, whose first attempt may be gone', async () => {
    const [gone = ''] = await bench.insert([old]);
    await bench.ask('delete from tasks where id = ?', [gone]);
    const [second = ''] = await bench.insert([{ ...old, id_inicial: gone, id_anterior: gone, tentativa: 2 }]);
    const [dead = ''] = await bench.insert([{ ...old, dead: 1, live_id: gone }]);
    const [last = ''] = await bench.insert([
      { ...old, dead: 1, live_id: gone, id_inicial: dead, id_anterior: dead, tentativa: 2 },
    ]);
    const family = [second, dead, last];
    expect(
      (await bench.database.upkeep.findPurgeable({ ...look, rows: 1 })).blocks.flat().toSorted(),
    ).toEqual(family.toSorted());
    await bench.ask(`update tasks set data_hora = utc_timestamp(6) where id = ?`, [last]);
    expect((await bench.database.upkeep.findPurgeable({ ...look, rows: 1 })).blocks).toEqual([]);
    expect(await bench.database.upkeep.purge(family.slice(0, 2))).toBe(0);
    // How old a row is was found by the look.
    expect(await bench.database.upkeep.purge(family)).toBe(3);
  });

  test('two who purge the same rows delete each of them once', async () => {
    const ids = await bench.insert(Array.from({ length: 50 }, () => old));
    const counts = await Promise.all([
      bench.database.upkeep.purge(ids),
      bench.database.upkeep.purge(ids.toReversed()),
    ]);
    await bench.database.upkeep.purge(ids);
    expect(counts[0] + counts[1]).toBeLessThanOrEqual(50);
    expect(await idsLeft()).toEqual([]);
  });

  test('what runs, waits, or has another status stays', async () => {
    const rows = ['pendente', 'agendada', 'processando', 'else'].map((status) => ({ ...old, status }));
    const ids = await bench.insert(rows);
    expect((await bench.database.upkeep.findPurgeable(look)).blocks).toEqual([]);
    expect(await bench.database.upkeep.purge(ids)).toBe(0);
  });

  const numbered = (inputs: readonly TaskInput[], from = 1): readonly NumberedTask[] =>
    inputs.map((input, index) => ({ line: from + index, task: encodeTask(input, false, 1_000_000) }));

  const openImport = (): Promise<MysqlImportTransactions> =>
    MysqlImportTransactions.open(bench.database.access, bench.database.inserts);

  test('an import commits when it is told to, and undoes the rest', async () => {
    const transactions = await openImport();
    const ids = await transactions.insert(numbered([{ topic: 'a' }, { topic: 'b' }]));
    expect(await idsLeft()).toEqual([]);
    await transactions.commit();
    expect(await idsLeft()).toEqual(ids);
    await transactions.insert(numbered([{ topic: 'c' }], 3));
    await transactions.close();
    expect(await idsLeft()).toEqual(ids);
  });

  test('the line that the server refuses is found among the others', async () => {
    await bench.ask(`drop trigger if exists refuse`);
    await bench.ask(
      `create trigger refuse before insert on tasks for each row follows tasks_schedule
       begin if new.processo = 'bad' then signal sqlstate '45000' set message_text = 'no bad ones'; end if; end`,
    );
    onTestFinished(() => bench.ask('drop trigger refuse').then(() => undefined));
    const transactions = await openImport();
    await transactions.insert(numbered([{ topic: 'kept' }]));
    await transactions.commit();
    const inputs = Array.from({ length: 9 }, (_, n) => ({ topic: n === 5 ? 'bad' : 'good' }));
    expect(await transactions.insert(numbered(inputs, 11))).toEqual({
      first: 16,
      last: 16,
      message: 'no bad ones',
    });
    await transactions.commit();
    expect(await idsLeft()).toHaveLength(1);
    expect(await transactions.insert(numbered([{ topic: 'good' }]))).toHaveLength(1);
    await transactions.commit();
    await transactions.close();
    expect(await idsLeft()).toHaveLength(2);
  });

  test('a connection that is lost at the end has committed nothing, and says so', async () => {
    const transactions = await openImport();
    const [id] = await bench.ask('select connection_id() as own');
    await transactions.insert(numbered([{ topic: 'a' }]));
    // Other files have transactions on this server too.
    const session = await untilListed(async () => {
      const [open] = await bench.ask(
        `select t.trx_mysql_thread_id as id from information_schema.innodb_trx t
         join information_schema.processlist p on p.id = t.trx_mysql_thread_id
         where p.db = database() and t.trx_mysql_thread_id <> ? and t.trx_rows_modified > 0`,
        [id?.['own']],
      );
      return open?.['id'];
    }, 'the transaction is listed');
    await bench.ask(`kill ${session}`);
    await until(async () => {
      const left = await bench.ask('select 1 from information_schema.processlist where id = ?', [session]);
      return left.length === 0;
    }, 'the session has ended');
    await expect(transactions.commit()).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
      message: expect.stringContaining('it was not committed') as unknown,
    });
    await transactions.close();
    expect(await idsLeft()).toEqual([]);
  });
}
