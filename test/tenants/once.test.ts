import { expect, test } from 'vitest';
import { QueueEvents, TenantDatabases, type TaskContext, type TenantSql } from '../../lib/index.js';
import { doneStatements as mysqlDoneStatements } from '../../lib/storage/mysql/tenants/done-table.js';
import { doneStatements } from '../../lib/storage/postgres/tenants/done-table.js';
import { PostgresTenantDriver } from '../../lib/storage/postgres/tenants/postgres-tenant-driver.js';
import { DatabasePool } from '../../lib/tenants/database-pool.js';
import { TenantHandle } from '../../lib/tenants/tenant-handle.js';
import { TenantPools } from '../../lib/tenants/tenant-pools.js';
import { resolveTenantDatabases } from '../../lib/options/tenant-options.js';
import { OptionCheck } from '../../lib/options/option-check.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { sqlUnder } from '../docs/documents.js';
import { useQueue } from '../worker/queue-bench.js';
import { TenantWork } from './kit/tenant-work.js';
import { useTenants } from './kit/tenants.js';

const bench = useQueue();
const tenantOf = useTenants('1');

const resolve = () => ({ ...tenantOf('1').config });
const notes = (): Promise<readonly string[]> => tenantOf('1').notes();
const note = (text: string) => async (tx: TenantSql) => {
  await tx.query('insert into note values ($1)', [text]);
  return text;
};

async function start(options: QueueAppOptions = {}): Promise<QueueApp & { tenants: TenantDatabases }> {
  const app = await bench.start({
    handlers: [TenantWork],
    tenantDatabases: { resolve },
    retryIntervalMinutes: 0,
    maxAttempts: 2,
    ...options,
  });
  const tenants = app.app.get(TenantDatabases, { strict: false });
  await tenants.createDedupTable('1');
  return { ...app, tenants };
}

test('what an attempt did before it failed is not done again by the next one', async () => {
  const { queue } = await start();
  const outcomes: unknown[] = [];
  TenantWork.work = async (ctx) => {
    const db = await ctx.tenantDb();
    outcomes.push(await db.once(note(`by attempt ${ctx.task.attempt}`)));
    await db.query('insert into note values ($1)', ['at least once']);
    if (ctx.task.attempt === 1) throw new Error('after the commit');
  };
  const id = await queue.insertTask({ topic: 'work', tenant: 1 });
  expect((await bench.endedChain(id, 2)).map(({ status }) => status)).toEqual(['falha', 'sucesso']);
  expect(outcomes).toEqual([{ ran: true, value: 'by attempt 1' }, { ran: false }]);
  expect(await notes()).toEqual(['at least once', 'at least once', 'by attempt 1']);
  // Another task does its own.
  TenantWork.work = async (ctx) => (await ctx.tenantDb()).once(note('another'));
  expect(await bench.ended(await queue.insertTask({ topic: 'work', tenant: 1 }))).toMatchObject({
    resultado: '{"ran":true,"value":"another"}',
  });
});

test('a worker that is lost after the commit: the attempt that replaces it does not do it again', async () => {
  const recovery = { intervalMs: 50, confirmMs: 50, graceMs: 0 };
  const committed = deferred();
  TenantWork.work = async (ctx) => {
    const { ran } = await (await ctx.tenantDb()).once(note(`by attempt ${ctx.task.attempt}`));
    if (ctx.task.attempt === 2) return `ran: ${ran}`;
    committed.resolve();
    // As if the process had been killed here: it is never heard of again.
    return new Promise(() => undefined);
  };
  const lost = await start({ shutdownTimeoutMs: 0, recovery });
  const id = await lost.queue.insertTask({ topic: 'work', tenant: 1 });
  await committed.promise;
  await lost.close();
  await start({ recovery });
  const [first, second] = await bench.endedChain(id, 2);
  expect(first).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('worker') });
  expect(second).toMatchObject({ status: 'sucesso', mensagem: 'ran: false' });
  expect(await notes()).toEqual(['by attempt 1']);
});

test('work that throws is not done, and a task has as many steps as it names', async () => {
  const { queue } = await start();
  TenantWork.work = async (ctx) => {
    const db = await ctx.tenantDb();
    await db.once(note('whole'));
    await db.once(note('charged'), { step: 'charge' });
    await db.once(
      async (tx) => {
        await note('shipped')(tx);
        if (ctx.task.attempt === 1) throw new Error('no truck');
      },
      { step: 'ship' },
    );
  };
  const id = await queue.insertTask({ topic: 'work', tenant: 1 });
  expect((await bench.endedChain(id, 2)).map(({ status }) => status)).toEqual(['falha', 'sucesso']);
  expect(await notes()).toEqual(['charged', 'shipped', 'whole']);
});

test('a dead task, which has the key of the one that died, does its own', async () => {
  const { queue } = await start({ maxAttempts: 1 });
  TenantWork.work = async (ctx) => {
    await (await ctx.tenantDb()).once(note('live'));
    throw new Error('on purpose');
  };
  const done = deferred();
  TenantWork.deadWork = async (ctx: TaskContext) => {
    await (await ctx.tenantDb()).once(note('dead'));
    done.resolve();
  };
  await queue.insertTask({ topic: 'work', tenant: 1 });
  await done.promise;
  expect(await notes()).toEqual(['dead', 'live']);
});

test('two attempts at the same time: the second one waits, and does it only if the first one did not', async () => {
  const { tenants } = await start();
  await tenantOf('1').pool.query(
    `alter role ${tenantOf('1').config.user} set default_transaction_isolation = 'serializable'`,
  );
  const pools = openPools();
  const handle = async (): Promise<TenantHandle> =>
    new TenantHandle(await pools.take('1'), { key: 'same', dead: false });
  try {
    for (const isGood of [false, true]) {
      const [first, second] = await Promise.all([handle(), handle()]);
      const [marked, goOn] = [deferred(), deferred()];
      const one = first.once(async (tx) => {
        await note(`first ${isGood}`)(tx);
        marked.resolve();
        await goOn.promise;
        if (!isGood) throw new Error('on purpose');
      });
      await marked.promise;
      const two = second.once(note(`second ${isGood}`), { step: '' });
      await until(async () => {
        const { rowCount } = await tenantOf('1').pool.query(
          `select from pg_locks l join pg_stat_activity a using (pid)
           where not l.granted and a.datname = current_database()`,
        );
        return rowCount === 1;
      }, 'the second one waits');
      goOn.resolve();
      expect((await Promise.allSettled([one]))[0]?.status).toBe(isGood ? 'fulfilled' : 'rejected');
      expect(await two).toMatchObject({ ran: !isGood });
      first.quit();
      second.quit();
      if (!isGood) await tenantOf('1').pool.query('truncate tarefa_done');
    }
    expect(await notes()).toEqual(['first true', 'second false']);
    expect(await tenants.purgeDone('1', { olderThanDays: 1 })).toBe(0);
  } finally {
    await pools.close();
    await tenantOf('1').pool.query(
      `alter role ${tenantOf('1').config.user} reset default_transaction_isolation`,
    );
  }
});

test('without its table the attempt fails with what is to be done', async () => {
  const { queue } = await start({ maxAttempts: 1 });
  await tenantOf('1').pool.query('drop table tarefa_done');
  TenantWork.work = async (ctx) => (await ctx.tenantDb()).once(note('never'));
  expect(await bench.ended(await queue.insertTask({ topic: 'work', tenant: 1 }))).toMatchObject({
    status: 'falha',
    mensagem: expect.stringMatching(
      /no table for once\(\): create it with TenantDatabases.createDedupTable\('1'\)/,
    ),
  });
  expect(await notes()).toEqual([]);
});

test('the table is made by whoever comes first, where the options say, and is purged by age', async () => {
  await tenantOf('1').pool.query(
    `create schema if not exists own authorization ${tenantOf('1').config.user}`,
  );
  const { tenants, queue } = await start({ tenantDatabases: { resolve, dedupTable: 'own.done' } });
  await Promise.all(Array.from({ length: 5 }, () => tenants.createDedupTable('1')));
  TenantWork.work = async (ctx) => (await ctx.tenantDb()).once(note('here'));
  await bench.ended(await queue.insertTask({ topic: 'work', tenant: 1 }));
  const { pool } = tenantOf('1');
  await pool.query(
    `insert into own.done select n::text, 'x', now() - interval '31 days' from generate_series(1, 10001) n`,
  );
  await expect(tenants.purgeDone('1', { olderThanDays: -1 })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
  expect(await tenants.purgeDone('1', { olderThanDays: 30 })).toBe(10_001);
  expect((await pool.query('select from own.done')).rowCount).toBe(1);
});

test('the statement of the guide is the one that makes the table', () => {
  const [documented = ''] = sqlUnder('docs/guides/tenants.md', 'How often');
  expect(documented.replaceAll('"', '')).toBe(`${doneStatements().create.replaceAll('"', '')};`);
  const [ofMysql = ''] = sqlUnder('docs/guides/tenants.md', 'In MySQL and MariaDB', 'mysql');
  const { create } = mysqlDoneStatements();
  expect(ofMysql.replaceAll('`', '')).toBe(`${create.slice(create.indexOf('\n') + 1).replaceAll('`', '')};`);
});

function openPools(): TenantPools {
  const options = resolveTenantDatabases({ resolve }, {}, new OptionCheck([]));
  if (!options) throw new Error('they are off');
  const driver = new PostgresTenantDriver(options, 'test');
  const events = new QueueEvents();
  return new TenantPools(options, (tenant) => new DatabasePool(tenant, options, resolve, driver, events));
}
