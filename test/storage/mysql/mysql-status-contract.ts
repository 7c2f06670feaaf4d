import { createConnection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { countLimit, type StatusRequest } from '../../../lib/storage/reports.js';
import type { StatusReport } from '../../../lib/storage/status-report.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { countsOf } from '../../support/statuses.js';
import { untilListed } from '../../support/listed-transactions.js';
import { until } from '../../support/waiting.js';
import { ago, useMysqlQueue } from './mysql-queue.js';

const hour = 3_600;

/** What a status promises of a table in MySQL or MariaDB, and what else people look at. */
export function exerciseMysqlStatus(flavour: MysqlFlavour): void {
  const bench = useMysqlQueue(flavour);

  const read = (request: Partial<StatusRequest> = {}): Promise<StatusReport> =>
    bench.database.reports.status({ purgeMaxAgeDays: 60, ...request });

  test('it counts what waits, runs and has ended, by topic, subscription and status', async () => {
    expect(await read()).toMatchObject({
      counts: [],
      oldestPending: null,
      lagMs: 0,
      nextScheduled: null,
      running: [],
      paused: [],
      unknown: [],
    });
    const rows = await bench.insert([
      { processo: 'b', data_hora: ago(10) },
      { processo: 'b', data_hora: ago(60), prioridade: 10 },
      { processo: 'b', data_hora: ago(2), prioridade: 99, dead: 1 },
      { processo: 'b', data_hora: ago(3) },
      {},
      { processo: 'a', data_hora: ago(1), subscriber_id: 's', publication_id: 1 },
      { processo: 'a', data_hora: ago(1), pub_sub: 1 },
      { processo: 'c', data_hora: ago(1), pub_sub: 1 },
      { processo: 'b', data_hora: ago(-hour) },
      { processo: 'z', data_hora: ago(-60) },
      { processo: 'b', status: 'sucesso', data_hora: ago(60) },
      { processo: 'b', status: 'sucesso', data_hora: ago(2 * hour) },
      { processo: 'b', status: 'falha', data_hora: ago(60), reenfileirado: 1 },
      { processo: 'b', status: 'falha_processando', data_hora: ago(60), estouro_tentativas: 1 },
      { processo: 'b', status: 'processando', data_hora: ago(300) },
    ]);
    await bench.ask('update tasks set perdas = 2 where id = ?', [rows[3]]);
    const report = await read();
    expect(countsOf(report)).toEqual([
      [null, null, false, 'pending', 1],
      ['a', null, false, 'pending', 1],
      ['a', 's', false, 'pending', 1],
      ['b', null, false, 'scheduled', 1],
      ['b', null, false, 'pending', 3],
      ['b', null, false, 'processing', 1],
      ['b', null, false, 'succeeded', 1],
      ['b', null, false, 'failed', 1],
      ['b', null, true, 'pending', 1],
      ['c', null, false, 'pending', 1],
      ['z', null, false, 'scheduled', 1],
    ]);
    expect(report.unknown).toEqual([]);
    // One gave up, and has no dead task.
    expect(report.buried).toEqual({ treated: 0, untreated: 1, isCapped: false });
    expect(report.counts.every(({ isCapped }) => !isCapped)).toBe(true);
    expect(report.oldestPending).toMatchObject({ id: rows[1], topic: 'b' });
    expect(report.lagMs).toBe(report.oldestPending?.waitingMs);
    expect(report.lagMs).toBeGreaterThanOrEqual(60_000);
    expect(report.waiting.map(({ topic, publication }) => [topic, publication])).toEqual(
      expect.arrayContaining([
        ['b', false],
        ['a', false],
      ]),
    );
    expect(report.nextScheduled).toMatchObject({ id: rows[9], topic: 'z' });
    expect(report.nextScheduled?.inMs).toBeGreaterThan(30_000);
    expect(report.running).toMatchObject([{ id: rows[14], workerId: null, host: null, attempt: 1 }]);
    expect(report.running[0]?.runningMs).toBeGreaterThanOrEqual(300_000);
    expect(report.size).toMatchObject({ partitions: 0 });
    expect(report.size?.tableBytes).toBeGreaterThan(0);
    expect(report.size?.indexes.map(({ name }) => name)).toContain('ready');
    const since = new Date(Date.now() - 3 * hour * 1_000);
    expect(countsOf(await read({ since }))).toContainEqual(['b', null, false, 'succeeded', 2]);
    expect((await bench.database.admin.oldestPending())?.task.id).toBe(rows[1]);
    const counts = await bench.database.admin.counts(null);
    expect(counts).toContainEqual({ topic: 'b', subscriptionId: null, status: 'pending', count: 4 });
    expect(counts).toContainEqual({ topic: 'b', subscriptionId: null, status: 'succeeded', count: 2 });
  });

  test('what is late is told: nobody makes it pending', async () => {
    await bench.insert([{ processo: 'x', status: 'agendada', data_hora: ago(hour) }]);
    const late = await read();
    expect(late.nextScheduled?.inMs).toBeLessThanOrEqual(-3_600_000);
    expect(late.lagMs).toBeGreaterThanOrEqual(3_600_000);
  });

  test('counting stops at a limit, and says so; the oldest is found anyway', async () => {
    const rows = Array.from({ length: countLimit + 500 }, (_, n) => [
      'many',
      { toSqlString: () => `utc_timestamp(6) - interval ${n + 1} second` },
    ]);
    const later = rows.map((_, n) => [
      'later',
      { toSqlString: () => `utc_timestamp(6) + interval ${n + hour} second` },
    ]);
    await bench.ask('insert into tasks (processo, data_hora) values ?', [[...rows, ...later]]);
    await bench.insert([{ processo: 'few' }]);
    const report = await read({ timeoutMs: 60_000 });
    expect(report.counts).toMatchObject([
      { topic: 'few', status: 'pending', count: 1, isCapped: false },
      { topic: 'later', status: 'scheduled', count: countLimit, isCapped: true },
      { topic: 'many', status: 'pending', count: countLimit, isCapped: true },
    ]);
    expect(report.lagMs).toBeGreaterThanOrEqual((countLimit + 500) * 1_000);
    const [row] = await bench.ask(`select max(id) as id from tasks where processo = 'many'`);
    expect(report.oldestPending?.id).toBe(String(row?.['id']));
  });

  test('it names whose transaction is open for longest, without what it asks', async () => {
    const holder = await createConnection(bench.server.url);
    onTestFinished(() => holder.end());
    await holder.query('start transaction with consistent snapshot');
    await holder.query(`select 'hunter2' as secret, count(*) from tasks`);
    await bench.insert([{}]);
    // Other files have transactions on this server too, some of them older.
    const report = await untilListed(async () => {
      const found = await read();
      return found.oldestSnapshot?.pid === holder.threadId ? found : undefined;
    }, 'it is the oldest one');
    expect(report.seesAllSessions).toBe(true);
    expect(report.oldestSnapshot).toMatchObject({
      kind: 'session',
      pid: holder.threadId,
      user: 'root',
      state: 'idle in transaction',
      name: null,
      applicationName: null,
    });
    const since = report.oldestSnapshot?.since?.getTime() ?? 0;
    expect(Math.abs(report.at.getTime() - since)).toBeLessThan(hour * 1_000);
    expect(report.oldestSnapshot?.sinceMs).toBeGreaterThanOrEqual(0);
    expect(JSON.stringify(report)).not.toContain('hunter2');
    await holder.query('commit');
    await untilListed(
      async () => (await read()).oldestSnapshot?.pid !== holder.threadId,
      'it is not listed any more',
    );
  });

  test('a user who may see no other sessions is told so; what may not be read is named, and the rest is read', async () => {
    const { name } = bench.server;
    const user = `reader_${process.pid}`;
    await bench.insert([{ processo: 'x' }]);
    await bench.ask(`create user '${user}'@'%' identified by 'x'`);
    onTestFinished(() => bench.ask(`drop user '${user}'@'%'`).then(() => undefined));
    await bench.ask(
      ['', '_worker', '_paused', '_subscriber', '_webhook']
        .map((suffix) => `grant select on ${name}.tasks${suffix} to '${user}'@'%'`)
        .join('; '),
    );
    await bench.ask(`grant select on ${name}.tarefa_migration to '${user}'@'%'`);
    await bench.ask(`revoke select on ${name}.tasks_worker from '${user}'@'%'`);
    const address = new URL(bench.server.url);
    address.username = user;
    address.password = 'x';
    const other = await bench.openUnchecked(address.href);
    const report = await other.reports.status({ purgeMaxAgeDays: 60 });
    expect(report.seesAllSessions).toBe(false);
    expect(report.oldestSnapshot).toBeNull();
    expect(countsOf(report)).toEqual([['x', null, false, 'pending', 1]]);
    expect(report.unknown.map(({ section }) => section)).toEqual(['running', 'workers', 'indexes']);
    expect(report.unknown[0]?.reason).toMatch(/denied/);
    // A connection that was limited is not any more.
    const { rows } = await other.access.own.query(
      'select @@lock_wait_timeout as own, @@global.lock_wait_timeout as usual',
    );
    expect(rows[0]?.['own']).toBe(rows[0]?.['usual']);
  });

  test('a part that takes too long, or waits for a lock, is left out', async () => {
    const locker = await createConnection(bench.server.url);
    onTestFinished(() => locker.end());
    await locker.query('lock tables tasks_paused write');
    const report = await read({ timeoutMs: 500 });
    expect(report.unknown).toContainEqual({
      section: 'paused',
      reason: expect.stringMatching(/too long|locked/) as unknown,
    });
    expect(report.size?.tableBytes).toBeGreaterThan(0);
  });

  test('a statement for people who look ends in time', async () => {
    const rows = Array.from({ length: 3_000 }, () => ['x'.repeat(2_000)]);
    await bench.ask('insert into tasks (payload) values ?', [rows]);
    const kinds = new Set<string>();
    // A server that has no processor for its clock answers in spite of the limit.
    await until(
      async () => {
        const { admin } = bench.database;
        const kind = await admin.countMeant('cancel', { payload: 'y' }, 1).then(
          () => 'counted',
          (error: unknown) => bench.database.classify(error),
        );
        kinds.add(kind);
        return kind === 'timeout';
      },
      () => `a statement to be ended, not ${[...kinds].join(', ')}`,
    );
    expect(kinds).toContain('timeout');
  });

  test('history is kept by the minute, then by ten, and forgotten after a day', async () => {
    const { reports } = bench.database;
    const minute = (minutesAgo: number): { toSqlString(): string } => ({
      toSqlString: () =>
        `timestampadd(minute, timestampdiff(minute, '1970-01-01', utc_timestamp()) - ${minutesAgo}, cast('1970-01-01' as datetime))`,
    });
    const row = (minutesAgo: number, route: string, lag: number | null): unknown[] => [
      minute(minutesAgo),
      route,
      2,
      1,
      lag,
      '[1,2]',
      '[0,0,3]',
    ];
    await bench.ask(
      'insert into tasks_history (at, route, succeeded, failed, lag_ms, waits, runs) values ?',
      [
        [
          ...Array.from({ length: 20 }, (_, n) => row(100 + n, 't:á', null)),
          ...Array.from({ length: 20 }, (_, n) => row(100 + n, '', n)),
          row(5, 't:á', null),
          row(26 * 60, 't:old', null),
        ],
      ],
    );
    await reports.condenseHistory();
    // This minute's turn is taken.
    await reports.condenseHistory();
    const kept = await bench.ask(
      `select at, convert(route using utf8mb4) as route, succeeded, failed, lag_ms, waits, runs from tasks_history order by at, route`,
    );
    expect(kept.filter(({ route }) => route === 't:old')).toEqual([]);
    const folded = kept.filter(({ route }) => route === 't:á').slice(0, -1);
    expect(folded.length).toBeLessThanOrEqual(3);
    expect(folded.every(({ at }) => /0:00/.test(String(at)))).toBe(true);
    expect(folded.reduce((sum, one) => sum + Number(one['succeeded']), 0)).toBe(40);
    expect(sumOf(folded.map((one) => JSON.parse(String(one['waits'])) as number[]))).toEqual([20, 40]);
    expect(sumOf(folded.map((one) => JSON.parse(String(one['runs'])) as number[]))).toEqual([0, 0, 60]);
    const { points, routes } = await reports.history({ range: 'day' });
    expect(routes).toMatchObject([{ route: 't:á', succeeded: 42, failed: 21 }]);
    expect(Math.max(...points.map(({ lagMs }) => lagMs ?? -1))).toBe(19);
    expect(points.at(-1)?.lagMs).toBe(0);
    expect((await reports.history({ range: 'hour' })).routes).toMatchObject([{ succeeded: 2 }]);
  });

  test('what several processes add to one minute is there in full', async () => {
    const { reports } = bench.database;
    const counts = { succeeded: 1, failed: 0, buried: 0, delivered: 0, unhandled: 0 };
    const additions = ['t:a', 't:b', 't:c'].map((route) => ({ route, ...counts, waits: [1], runs: [0, 1] }));
    await Promise.all(Array.from({ length: 8 }, () => reports.addHistory(additions)));
    const rows = await bench.ask(
      'select sum(succeeded) as n, group_concat(waits) as waits from tasks_history',
    );
    expect(Number(rows[0]?.['n'])).toBe(24);
    const { routes } = await reports.history({ range: 'hour' });
    expect(routes.map(({ succeeded }) => succeeded)).toEqual([8, 8, 8]);
    const waits = await bench.ask('select waits, runs from tasks_history');
    const sums = (name: string): readonly number[] =>
      sumOf(waits.map((one) => JSON.parse(String(one[name])) as number[]));
    expect([sums('waits'), sums('runs')]).toEqual([[24], [0, 24]]);
  });
}

function sumOf(lists: readonly (readonly number[])[]): readonly number[] {
  const longest = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    lists.reduce((sum, list) => sum + (list[index] ?? 0), 0),
  );
}
