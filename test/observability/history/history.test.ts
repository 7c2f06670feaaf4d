import { expect, test } from 'vitest';
import { Subscriber, TaskHandler } from '../../../lib/index.js';
import { HistoryRecorder } from '../../../lib/observability/history/history-recorder.js';
import { inTransaction } from '../../../lib/storage/postgres/connections/own-pool.js';
import { PostgresReports } from '../../../lib/storage/postgres/postgres-reports.js';
import type { QueueAccess } from '../../../lib/storage/postgres/queue-access.js';
import type { PreparedSchema } from '../../../lib/storage/postgres/schema/prepare-schema.js';
import { readHistory } from '../../../lib/storage/postgres/reports/read-history.js';
import { OutcomeTally } from '../../../lib/observability/history/outcome-tally.js';
import { QueueEvents } from '../../../lib/events.js';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { withinOneMinute } from '../../support/one-minute.js';
import { subscribe } from '../../support/subscriptions.js';
import { until } from '../../support/waiting.js';
import { useQueue } from '../../worker/queue-bench.js';

const bench = useQueue();
const tables = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });

const lastHour = (route?: string) => readHistory(bench.pool, tables, { range: 'hour', route });
const forget = () => bench.pool.query('truncate tasks_history');

class Handlers {
  @TaskHandler('good')
  good(): string {
    return 'done';
  }
  @TaskHandler('in-database')
  async inDatabase(_payload: unknown, ctx: { db: { query(text: string): Promise<unknown> } }): Promise<void> {
    await ctx.db.query('select 1');
  }
  @TaskHandler('bad')
  bad(): void {
    throw new Error('no');
  }
  @Subscriber('crm')
  crm(): void {}
}

test('a worker writes down all that ended, by topic and subscription, at the latest when it stops', async () => {
  const { queue, close } = await bench.start({
    handlers: [Handlers],
    unknownTasks: 'fail',
    maxAttempts: 1,
    retryIntervalMinutes: 0,
  });
  await forget();
  await subscribe(bench.database, [{ id: 'crm' }]);
  for (let n = 0; n < 60; n += 1) await queue.insertTask({ topic: 'good' });
  for (let n = 0; n < 3; n += 1) await queue.insertTask({ topic: 'in-database' });
  for (let n = 0; n < 4; n += 1) await queue.insertTask({ topic: 'bad' });
  await queue.insertTask({ topic: 'nobody' });
  for (let n = 0; n < 5; n += 1) await queue.insertTaskPubSub({ topic: 'order-placed' });
  for (let n = 0; n < 2; n += 1) await queue.insertTaskPubSub({ topic: 'order-lost' });
  await until(async () => {
    const { rows } = await bench.pool.query(
      `select from tasks where status in ('pendente', 'agendada', 'processando')`,
    );
    return rows.length === 0;
  }, 'all have ended');
  await close();
  const { routes, points } = await lastHour();
  const counts = Object.fromEntries(
    routes.map(({ route, succeeded, failed, buried, delivered, unhandled }) => [
      route,
      { succeeded, failed, buried, delivered, unhandled },
    ]),
  );
  const none = { succeeded: 0, failed: 0, buried: 0, delivered: 0, unhandled: 0 };
  expect(counts).toEqual({
    't:good': { ...none, succeeded: 60 },
    't:in-database': { ...none, succeeded: 3 },
    // Each of them, and its dead task, which nobody handles and which so succeeds.
    't:bad': { ...none, failed: 4, buried: 4, succeeded: 4 },
    't:nobody': { ...none, failed: 1, buried: 1, unhandled: 1, succeeded: 1 },
    's:crm': { ...none, succeeded: 5 },
    't:order-placed': { ...none, delivered: 5 },
    // Nobody subscribes.
    't:order-lost': { ...none, delivered: 2, unhandled: 2 },
  });
  const good = routes.find(({ route }) => route === 't:good');
  expect(good?.wait.p50).toEqual(expect.any(Number));
  expect(good?.run.p95).toEqual(expect.any(Number));
  expect(good?.ended.reduce((sum, count) => sum + count, 0)).toBe(60);
  expect(points).toHaveLength(60);
  expect(points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(73);
});

test('with history: false nothing is written', async () => {
  const { queue, close } = await bench.start({ handlers: [Handlers], history: false });
  await forget();
  await queue.insertTask({ topic: 'good' });
  await until(
    async () => (await bench.pool.query(`select from tasks where status = 'sucesso'`)).rowCount === 1,
    'it ends',
  );
  await close();
  expect((await bench.pool.query('select from tasks_history')).rowCount).toBe(0);
});

/** A recorder that writes when it is told to. */
async function makeRecorder(query = bench.pool.query.bind(bench.pool)) {
  await (await bench.start({ worker: false })).close();
  await forget();
  const events = new QueueEvents();
  const inserts = { query: (text: string, values?: unknown[]) => query(text, values) };
  const access: Partial<QueueAccess> = {
    inserts,
    schema: { tables } as PreparedSchema,
    inTransaction: (work) => inTransaction(bench.pool, work),
  };
  const reports = new PostgresReports(access as QueueAccess, { findPurgeable: () => Promise.reject() });
  const recorder = new HistoryRecorder(reports, events);
  return { recorder, events };
}

test('two processes add to the same minute, and one of them looks how long tasks wait', async () => {
  const { routes, points } = await withinOneMinute(bench.pool, async () => {
    const [one, other] = [await makeRecorder(), await makeRecorder()];
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, status, data_hora, iniciada_em, finalizada_em)
       select 'slow', 'sucesso', now() - interval '10 seconds', now() - interval '2 seconds', now() from generate_series(1, 10)
       returning id`,
    );
    await bench.pool.query(
      `insert into tasks (processo, data_hora) values ('late', now() - interval '5 seconds')`,
    );
    for (const { id } of rows.slice(0, 5)) one.recorder.tally.completed('t:slow', id);
    for (const { id } of rows.slice(5)) other.recorder.tally.completed('!t:slow', id);
    await Promise.all([one.recorder.flush(), other.recorder.flush()]);
    return lastHour();
  });
  expect(routes).toMatchObject([{ route: 't:slow', succeeded: 10 }]);
  expect(routes[0]?.wait.p50).toBeGreaterThan(6_000);
  expect(routes[0]?.wait.p50).toBeLessThan(10_000);
  expect(routes[0]?.run.p95).toBeGreaterThan(1_500);
  const lags = points.flatMap(({ lagMs }) => lagMs ?? []);
  expect(lags).toHaveLength(1);
  expect(lags[0]).toBeGreaterThanOrEqual(5_000);
});

test('where nothing has ended nothing is sent', async () => {
  const sent: string[] = [];
  const { recorder } = await makeRecorder(((text: string, values?: unknown[]) => {
    sent.push(text);
    return bench.pool.query(text, values);
  }) as typeof bench.pool.query);
  await recorder.flush();
  expect(sent).toEqual([]);
  recorder.tally.completed('t:one', '1');
  await recorder.flush();
  expect(sent.length).toBeGreaterThan(0);
});

test('what cannot be written is kept, and said once', async () => {
  let works = false;
  const { recorder, events } = await makeRecorder(((text: string, values?: unknown[]) =>
    works ? bench.pool.query(text, values) : Promise.reject(new Error('gone'))) as typeof bench.pool.query);
  const warnings: string[] = [];
  events.on('warning', ({ message }) => warnings.push(message));
  recorder.tally.completed('t:kept', '1');
  await recorder.flush();
  recorder.tally.completed('t:kept', '2');
  await recorder.flush();
  works = true;
  await recorder.flush();
  expect(warnings).toEqual([expect.stringContaining('gone')]);
  expect((await lastHour()).routes).toMatchObject([{ route: 't:kept', succeeded: 2 }]);
});

test('routes beyond the fiftieth count together, and a sample stays small', () => {
  const tally = new OutcomeTally();
  for (let n = 0; n < 120; n += 1) tally.completed(`t:${n}`, String(n));
  for (let n = 0; n < 5_000; n += 1) tally.completed('t:0', String(n));
  const taken = tally.take();
  expect(taken).toHaveLength(51);
  expect(taken.find(({ route }) => route === '*')?.succeeded).toBe(70);
  expect(taken.find(({ route }) => route === 't:0')?.sample).toHaveLength(40);
  expect(tally.take()).toEqual([]);
});

test('a day is ten minutes a point; minutes older than an hour become one row of ten, and what is older than a day is forgotten', async () => {
  const day = () => readHistory(bench.pool, tables, { range: 'day', route: 's:b' });
  const { hour, before, hourAfter, after } = await withinOneMinute(bench.pool, async () => {
    const { recorder } = await makeRecorder();
    await bench.pool.query(
      `insert into tasks_history (at, route, succeeded, waits, runs, lag_ms)
       select date_trunc('minute', now()) - m * interval '1 minute', route, 1, array_fill(1, array[1 + m % 7]), '{0, 0, 2}',
         case when route = '' then m end
       from generate_series(0, 2000) m, unnest(array['t:a', 's:b', '']) route`,
    );
    const unfolded = { hour: await lastHour(), before: await day() };
    // Its first round adds what it saw itself.
    await bench.pool.query(
      `delete from tasks_history where route = '' and at >= date_trunc('minute', now())`,
    );
    recorder.tally.completed('t:other', '1');
    await recorder.flush();
    return { ...unfolded, hourAfter: await lastHour(), after: await day() };
  });
  expect(before.stepMs).toBe(600_000);
  expect(before.points).toHaveLength(144);
  expect(before.points.slice(0, -1).every(({ succeeded }) => succeeded === 10)).toBe(true);
  expect(before.points.at(0)?.lagMs).toBeGreaterThan(1_400);
  const same = ({ points, routes }: typeof before) => ({ points: points.slice(0, -2), routes });
  expect(same(after)).toEqual(same(before));
  expect(hourAfter.points.slice(0, -2)).toEqual(hour.points.slice(0, -2));
  const { rows } = await bench.pool.query<{ n: number; hours: number }>(
    `select count(*)::int as n, extract(epoch from now() - min(at))::float8 / 3600 as hours from tasks_history where route = 't:a'`,
  );
  expect(rows[0]?.n).toBeLessThan(240);
  expect(rows[0]?.hours).toBeLessThan(25.1);
});
