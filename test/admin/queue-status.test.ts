import { Injectable } from '@nestjs/common';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import type { RunTransaction } from '../../lib/storage/postgres/partitions/short-transaction.js';
import { readQueueStatus } from '../../lib/storage/postgres/reports/queue-status.js';
import { countLimit, type StatusRequest } from '../../lib/storage/reports.js';
import type { StatusReport } from '../../lib/storage/status-report.js';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import type { PurgeLook, PurgeableWindow } from '../../lib/storage/upkeep.js';
import { countsOf } from '../support/statuses.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const tables = queueTables('public', 'tasks', { schema: 'public', table: 'tasks_subscriber' });

let hold = deferred();

@Injectable()
class Handlers {
  @TaskHandler('hold')
  async hold(): Promise<void> {
    await hold.promise;
  }
}

const nothingPurgeable: PurgeableWindow = { blocks: [], last: undefined, keptFrom: undefined, goesOn: false };

/** Asks as a role, or as the tests' own. */
async function read(
  request: Partial<StatusRequest> = {},
  findPurgeable: (look: PurgeLook) => Promise<PurgeableWindow> = async () => nothingPurgeable,
  role?: string,
): Promise<StatusReport> {
  const client = await bench.connect();
  if (role !== undefined) await client.query(`set role ${role}`);
  const transaction: RunTransaction = async (work) => {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  };
  const whole = { purgeMaxAgeDays: 60, ...request };
  return readQueueStatus(tables, transaction, { findPurgeable }, false, whole);
}

test('it counts what waits, runs and has ended, by topic, subscription and status', async () => {
  const app = await bench.start({ worker: false });
  expect(await read()).toMatchObject({
    table: 'public.tasks',
    counts: [],
    oldestPending: null,
    lagMs: 0,
    nextScheduled: null,
    running: [],
    paused: [],
    unknown: [],
  });
  const { rows } = await bench.pool.query<{ id: string }>(`
    insert into tasks (processo, status, subscriber_id, dead, data_hora, prioridade, pub_sub, publication_id, perdas,
      reenfileirado) values
      ('b', 'pendente', null, false, now() - interval '10 seconds', 50, false, null, 0, false),
      ('b', 'pendente', null, false, now() - interval '60 seconds', 10, false, null, 0, false),
      ('b', 'pendente', null, true, now() - interval '2 seconds', 99, false, null, 0, false),
      ('b', 'pendente', null, false, now() - interval '3 seconds', 50, false, null, 2, false),
      (null, 'pendente', null, false, now(), 50, false, null, 0, false),
      ('a', 'pendente', 's', false, now() - interval '1 second', 50, false, 1, 0, false),
      ('a', 'pendente', null, false, now() - interval '1 second', 50, true, null, 0, false),
      ('c', 'pendente', null, false, now() - interval '1 second', 50, true, null, 0, false),
      ('b', 'agendada', null, false, now() + interval '1 hour', 50, false, null, 0, false),
      ('z', 'agendada', null, false, now() + interval '1 minute', 50, false, null, 0, false),
      ('b', 'sucesso', null, false, now() - interval '1 minute', 50, false, null, 0, false),
      ('b', 'sucesso', null, false, now() - interval '2 hours', 50, false, null, 0, false),
      ('b', 'falha', null, false, now() - interval '1 minute', 50, false, null, 0, true),
      ('b', 'falha_processando', null, false, now() - interval '1 minute', 50, false, null, 0, false),
      ('b', 'processando', null, false, now() - interval '5 minutes', 50, false, null, 0, false)
    returning id`);
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
  expect(report.counts.every(({ isCapped }) => !isCapped)).toBe(true);
  expect(report.oldestPending).toMatchObject({ id: rows[1]?.id, topic: 'b' });
  expect(report.lagMs).toBe(report.oldestPending?.waitingMs);
  expect(report.lagMs).toBeGreaterThanOrEqual(60_000);
  expect(report.nextScheduled).toMatchObject({ id: rows[9]?.id, topic: 'z' });
  expect(report.nextScheduled?.inMs).toBeGreaterThan(30_000);
  expect(report.running).toMatchObject([{ id: rows[14]?.id, workerId: null, host: null, attempt: 1 }]);
  expect(report.running[0]?.runningMs).toBeGreaterThanOrEqual(300_000);
  const since = new Date(Date.now() - 3 * 3_600_000);
  expect(countsOf(await read({ since }))).toContainEqual(['b', null, false, 'succeeded', 2]);
  await app.app.get(QueueAdmin).pause({ topic: 'b' });
  expect((await read()).paused).toMatchObject([{ topic: 'b' }]);
  await app.app.get(QueueAdmin).resume({ topic: 'b' });
  // Late: nobody makes it pending.
  await bench.pool.query(`truncate tasks`);
  await bench.pool.query(
    `insert into tasks (processo, status, data_hora) values ('x', 'agendada', now() - interval '1 hour')`,
  );
  const late = await read();
  expect(late.nextScheduled?.inMs).toBeLessThanOrEqual(-3_600_000);
  expect(late.lagMs).toBeGreaterThanOrEqual(3_600_000);
  // What never is due is not next.
  await bench.pool.query(`update tasks set data_hora = 'infinity'`);
  expect(await read()).toMatchObject({
    nextScheduled: null,
    lagMs: 0,
    counts: [{ status: 'scheduled', count: 1 }],
  });
});

test('counting stops at a limit, and says so; the oldest is found anyway', async () => {
  await bench.start({ worker: false });
  await bench.pool.query(`
    insert into tasks (processo, data_hora)
    select 'many', now() - interval '1 second' * n from generate_series(1, ${countLimit + 500}) n;
    insert into tasks (processo, data_hora)
    select 'later', now() + interval '1 hour' + interval '1 second' * n from generate_series(1, ${countLimit + 500}) n;
    insert into tasks (processo) values ('few')`);
  const report = await read();
  expect(report.counts).toMatchObject([
    { topic: 'few', status: 'pending', count: 1, isCapped: false },
    { topic: 'later', status: 'scheduled', count: countLimit, isCapped: true },
    { topic: 'many', status: 'pending', count: countLimit, isCapped: true },
  ]);
  expect(report.lagMs).toBeGreaterThanOrEqual((countLimit + 500) * 1_000);
  const { rows } = await bench.pool.query<{ id: string }>(
    `select max(id)::text as id from tasks where processo = 'many'`,
  );
  expect(report.oldestPending?.id).toBe(rows[0]?.id);
});

test('it says which workers live and by what, and what they run', async () => {
  hold = deferred();
  const { queue, worker } = await bench.start({ handlers: [Handlers] });
  const id = await queue.insertTask({ topic: 'hold' });
  await until(async () => (await bench.statusOf(id)) === 'processando', 'it runs');
  const { rows } = await bench.pool.query<{ id: string }>(`
    insert into tasks_worker (host, pid, version, concurrency, routes, lease_until) values
      ('leased', 1, '0', 1, '{t:a}', now() + interval '10 seconds'), ('killed', 2, '0', 1, '{}', now() - interval '1 minute'),
      ('stopped', 3, '0', 1, '{}', null)
    returning id`);
  await bench.pool.query(`update tasks_worker set stopped_at = now() where host = 'stopped'`);
  const report = await read();
  expect(report.workers).toMatchObject([
    { id: worker.id, pid: process.pid, alive: 'lock', concurrency: 10 },
    { id: rows[0]?.id, host: 'leased', alive: 'lease', routes: ['t:a'] },
    { id: rows[1]?.id, host: 'killed', alive: false },
  ]);
  expect(report.workers[0]?.routes).toContain('t:hold');
  expect(report.running).toMatchObject([{ id, topic: 'hold', workerId: worker.id, pid: process.pid }]);
  await bench.pool.query(`delete from tasks_worker where host in ('leased', 'killed', 'stopped')`);
  hold.resolve();
  await bench.ended(id);
});

test('it names who holds back cleaning: a session, by its transaction or its snapshot, without what it asks', async () => {
  await bench.start({ worker: false });
  const holder = new Client({ connectionString: bench.database.url, application_name: 'nightly report' });
  await holder.connect();
  const find = async (): Promise<StatusReport['oldestSnapshot']> => (await read()).oldestSnapshot;
  try {
    await holder.query('begin isolation level repeatable read');
    await holder.query(`select 'hunter2' as secret`);
    for (let n = 0; n < 3; n += 1) await bench.pool.query(`insert into tasks (processo) values ('x')`);
    const report = await read();
    expect(report.oldestSnapshot).toMatchObject({
      kind: 'session',
      applicationName: 'nightly report',
      state: 'idle in transaction',
      name: null,
    });
    expect(report.oldestSnapshot?.transactions).toBeGreaterThanOrEqual(3);
    expect(report.oldestSnapshot?.since).toBeInstanceOf(Date);
    expect(JSON.stringify(report)).not.toContain('hunter2');
    await holder.query('commit');
    expect((await find())?.applicationName).not.toBe('nightly report');
    // Without a snapshot, by its own transaction.
    await holder.query(`begin; insert into tasks (processo) values ('y')`);
    await bench.pool.query(`insert into tasks (processo) values ('x')`);
    expect(await find()).toMatchObject({ applicationName: 'nightly report', kind: 'session' });
    await holder.query('rollback');
  } finally {
    await holder.end();
  }
});

test('a role that may see no other sessions is told so; what it may not read is named, and the rest is read', async () => {
  await bench.start({ worker: false });
  const role = `reader_${process.pid}`;
  await bench.pool.query(`insert into tasks (processo) values ('x')`);
  await bench.pool.query(`create role ${role}; grant select on tasks to ${role}`);
  try {
    const report = await read({}, async () => Promise.reject(new Error('no right to lock')), role);
    expect(report.seesAllSessions).toBe(false);
    expect(countsOf(report)).toEqual([['x', null, false, 'pending', 1]]);
    expect(report.purgeable).toBeNull();
    expect(report.unknown.map(({ section }) => section)).toEqual([
      'running',
      'workers',
      'paused',
      'purgeable',
    ]);
    expect(report.unknown[0]?.reason).toMatch(/permission denied/);
    expect((await read()).seesAllSessions).toBe(true);
  } finally {
    await bench.pool.query(`drop owned by ${role}; drop role ${role}`);
  }
});

test('a part that takes too long, or waits for a lock, is left out', async () => {
  await bench.start({ worker: false });
  const locker = await bench.connect();
  await locker.query('begin; lock table tasks_paused in access exclusive mode');
  const report = await read({ timeoutMs: 1_000 });
  expect(report.unknown).toContainEqual({
    section: 'paused',
    reason: expect.stringMatching(/too long|locked/) as unknown,
  });
  // On a busy machine one of those after it may take as long, not all.
  const after = ['subscriptions', 'ended', 'size', 'indexes', 'oldestSnapshot'];
  const leftOut = report.unknown.map(({ section }) => section);
  expect(after.filter((section) => !leftOut.includes(section))).not.toEqual([]);
});

test('it tells sizes, rows as the statistics have them, and invalid indexes', async () => {
  await bench.start({ worker: false });
  await bench.pool.query(`insert into tasks (processo) select 'x' from generate_series(1, 100)`);
  await bench.pool.query('vacuum analyze tasks');
  const { size } = await until(async () => {
    const report = await read();
    return report.size?.liveRows === 100 && report;
  }, 'the statistics are written');
  expect(size).toMatchObject({
    partitions: expect.any(Number) as unknown,
    vacuumedAt: expect.any(Date) as unknown,
  });
  expect(size?.indexes.map(({ name }) => name)).toContain('tasks_ready');
  expect(size?.indexes.every(({ valid, bytes }) => valid && bytes > 0)).toBe(true);
  expect(size?.indexBytes).toBe(size?.indexes.reduce((sum, { bytes }) => sum + bytes, 0));
});

test('of the history to purge it counts the oldest rows only', async () => {
  await bench.start({ worker: false });
  const looks: PurgeLook[] = [];
  const found = async (look: PurgeLook): Promise<PurgeableWindow> => {
    looks.push(look);
    return {
      blocks: [['1', '2'], ['3']],
      last: String(looks.length * 10),
      keptFrom: undefined,
      goesOn: true,
    };
  };
  expect((await read({}, found)).purgeable).toEqual({ count: 15, isCapped: true });
  expect(looks.map(({ after, olderThanDays }) => [after, olderThanDays])).toEqual([
    [undefined, 60],
    ['10', 60],
    ['20', 60],
    ['30', 60],
    ['40', 60],
  ]);
  const last = async (): Promise<PurgeableWindow> => ({ ...nothingPurgeable, blocks: [['1']] });
  expect((await read({}, last)).purgeable).toEqual({ count: 1, isCapped: false });
  expect((await read({ purgeable: false }, found)).purgeable).toBeNull();
});

test('many failed tasks are retried in blocks; what fails later, is locked or is dead is left', async () => {
  const { app } = await bench.start({ worker: false });
  await bench.pool.query(`
    insert into tasks (processo, status, dead, reenfileirado, data_hora)
    select 'x', 'falha', n % 10 = 0, false, now() - interval '1 minute' from generate_series(1, 1500) n;
    insert into tasks (processo, status) values ('y', 'falha'), ('x', 'sucesso'), ('x', 'pendente');
    insert into tasks (processo, status, reenfileirado) values ('x', 'falha', true)`);
  const bulk = app.get(QueueAdmin).bulk('retry');
  const plan = await bulk.plan({ topic: 'x', dead: false });
  expect(plan).toMatchObject({ total: 1_350, counts: [{ topic: 'x', subscriptionId: null, count: 1_350 }] });
  const locker = await bench.connect();
  await locker.query(`begin; select from tasks where id = (select min(id) from tasks) for update`);
  await bench.pool.query(`insert into tasks (processo, status) values ('x', 'falha')`);
  const blocks: number[] = [];
  for await (const count of bulk.run(plan)) blocks.push(count);
  expect(blocks).toEqual([500, 500, 349]);
  const { rows } = await bench.pool.query<{ rodada: number; n: string; keyed: string }>(
    `select rodada, count(*) as n, count(distinct id_inicial) as keyed from tasks where rodada > 0 and status = 'pendente'
     group by 1`,
  );
  expect(rows).toEqual([{ rodada: 1, n: '1349', keyed: '1349' }]);
  expect((await bulk.plan({ dead: false })).counts.map(({ topic, count }) => [topic, count])).toEqual([
    ['x', 2],
    ['y', 1],
  ]);
  await locker.query('rollback');
  expect((await bulk.plan({ dead: true })).total).toBe(150);
  expect((await bulk.plan({ topic: 'none' })).lastId).toBe('0');
  await expect(bulk.plan({ tpoic: 'x' } as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
