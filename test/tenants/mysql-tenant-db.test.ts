import type { Connection } from 'mysql2/promise';
import { afterEach, expect, test } from 'vitest';
import {
  QueueAdmin,
  TenantDatabases,
  type TaskContext,
  type TaskRecord,
  type TenantDatabaseOptions,
  type TenantDb,
  type TenantSql,
} from '../../lib/index.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { mysqlOfRun } from '../support/run-database.js';
import { deferred, until } from '../support/waiting.js';
import { useMysqlTenant } from './kit/mysql-tenant.js';
import { credentialsOf, startStandIn } from './kit/stand-in.js';
import { TenantWork } from './kit/tenant-work.js';

// A queue in MySQL or MariaDB opens its tenants' databases there as well.

const database = await useMysqlDatabase(mysqlOfRun);
const tenant = useMysqlTenant();
const apps: QueueApp[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

async function start(
  tenants: TenantDatabaseOptions = {},
  options: QueueAppOptions = {},
): Promise<QueueApp & { readonly tenants: TenantDatabases }> {
  const app = await startApp(database, {
    handlers: [TenantWork],
    tenantDatabases: tenants.service ? tenants : { resolve: () => ({ ...tenant().config }), ...tenants },
    retryIntervalMinutes: 0,
    maxAttempts: 1,
    pollIntervalMs: 50,
    ...options,
  });
  apps.push(app);
  return { ...app, tenants: app.app.get(TenantDatabases, { strict: false }) };
}

async function ended({ app }: QueueApp, id: string): Promise<TaskRecord> {
  const admin = app.get(QueueAdmin, { strict: false });
  return until(async () => {
    const [task] = (await admin.find(id)).attempts;
    return task && ['succeeded', 'failed'].includes(task.status) && task;
  }, `the end of task ${id}`);
}

/** Runs a handler that does that, and answers its attempt. */
async function run(
  app: QueueApp,
  work: (db: TenantDb, ctx: TaskContext) => unknown,
  topic = 'work',
): Promise<TaskRecord> {
  TenantWork.work = async (ctx) => work(await ctx.tenantDb(), ctx);
  return ended(app, await app.queue.insertTask({ topic, tenant: 1 }));
}

const insert = 'insert into note values (?)';
/** Rows with a column `n`. */
const numbersTo = (last: number): string =>
  `json_table(concat('[1', repeat(',1', ${last - 1}), ']'), '$[*]' columns (n for ordinality)) every`;
const notes = (): Promise<readonly string[]> => tenant().notes();
const note = (text: string) => (tx: TenantSql) => tx.query(insert, [text]);
const good = { status: 'succeeded' };

test('statements commit one by one, in order, and tell rows and counts', async () => {
  const app = await start();
  const task = await run(app, async (db, ctx) => {
    expect(await ctx.tenantDb()).toBe(db);
    const answers = await Promise.all(['b', 'a', 'c'].map((text) => db.query(insert, [text])));
    expect(answers.map(({ rowCount }) => rowCount)).toEqual([1, 1, 1]);
    const { rows, rowCount } = await db.query('select text from note');
    expect([rows, rowCount]).toEqual([[{ text: 'b' }, { text: 'a' }, { text: 'c' }], 3]);
    expect(
      (await db.query(`select timestamp'2026-11-25 22:00:00' as at, now() - utc_timestamp() as off`)).rows,
    ).toEqual([{ at: new Date('2026-11-25T22:00:00Z'), off: expect.anything() }]);
    expect((await db.query('select @@session.time_zone as zone')).rows).toEqual([{ zone: '+00:00' }]);
    await expect(db.query('nonsense')).rejects.toMatchObject({ errno: 1064 });
    return db.tenant;
  });
  expect(task).toMatchObject({ ...good, message: '1' });
  expect(await notes()).toEqual(['a', 'b', 'c']);
});

test('a transaction commits with its work, rolls back with its error, and is over then', async () => {
  const app = await start();
  const task = await run(app, async (db) => {
    let late: TenantSql | undefined;
    await db.transaction(async (tx) => {
      late = tx;
      await note('kept')(tx);
    });
    await expect(late?.query('select 1')).rejects.toMatchObject({ code: 'TASK_ENDED' });
    const undone = db.transaction(async (tx) => {
      await note('undone')(tx);
      throw new Error('on purpose');
    });
    await expect(undone).rejects.toThrow('on purpose');
    const swallowed = db.transaction(async (tx) => {
      await note('lost')(tx);
      await tx.query('nonsense').catch(() => undefined);
    });
    await expect(swallowed).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    await db.transaction(async (tx) => {
      await tx.query('savepoint own');
      await tx.query('nonsense').catch(() => tx.query('rollback to savepoint own'));
      await note('after a savepoint')(tx);
      void tx.query(insert, ['not awaited']);
    });
    await db.transaction(async () => {
      const beside = { code: 'TRANSACTION_BROKEN', message: expect.stringContaining('use the tx') };
      await expect(db.query(insert, ['beside'])).rejects.toMatchObject(beside);
    });
    await db.query(insert, ['at once']);
  });
  expect(task).toMatchObject(good);
  expect(await notes()).toEqual(['after a savepoint', 'at once', 'kept', 'not awaited']);
});

test('work that ends its transaction is told so, and what it does after that is undone', async () => {
  const app = await start();
  await tenant().pool.query('drop table if exists made');
  for (const ending of ['create table made (id int)', 'commit', 'rollback']) {
    const task = await run(app, async (db) => {
      const broken = db.transaction(async (tx) => {
        await tx.query(ending);
        await note('after')(tx);
      });
      await expect(broken).rejects.toMatchObject({
        code: 'TRANSACTION_BROKEN',
        message: expect.stringContaining('ended its transaction in the database of tenant 1'),
      });
      await db.query(insert, [`then ${ending}`]);
    });
    expect(task).toMatchObject(good);
  }
  expect(await notes()).toHaveLength(3);
});

test('a deadlock that is swallowed breaks its transaction', async () => {
  const app = await start();
  const { pool } = tenant();
  await pool.query('create table pair (id int primary key, n int); insert into pair values (1, 0), (2, 0)');
  const other = await pool.getConnection();
  try {
    await other.query('start transaction');
    // The server gives up whoever has written less.
    await other.query(`insert into pair select 10 + n, 0 from ${numbersTo(500)}`);
    await other.query('update pair set n = 1 where id = 1');
    const task = await run(app, async (db) => {
      const broken = db.transaction(async (tx) => {
        await note('before')(tx);
        await tx.query('update pair set n = 2 where id = 2');
        const waits = tx.query('update pair set n = 2 where id = 1');
        const crossing = other.query('update pair set n = 1 where id = 2');
        await expect(waits).rejects.toMatchObject({ errno: 1213 });
        await crossing;
        await note('after')(tx);
      });
      await expect(broken).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    });
    expect(task).toMatchObject(good);
  } finally {
    await other.query('rollback');
    other.release();
  }
  expect(await notes()).toEqual([]);
});

test('what an attempt did once before it failed is not done again by the next one', async () => {
  const app = await start({}, { maxAttempts: 2 });
  await Promise.all(Array.from({ length: 3 }, () => app.tenants.createDedupTable('1')));
  const outcomes: unknown[] = [];
  const over = deferred();
  TenantWork.work = async (ctx) => {
    const db = await ctx.tenantDb();
    outcomes.push(await db.once(async (tx) => (await note(`by ${ctx.task.attempt}`)(tx)).rowCount));
    outcomes.push(await db.once(note('step'), { step: 'other' }).then(({ ran }) => ran));
    await db.query(insert, ['at least once']);
    if (ctx.task.attempt === 1) throw new Error('after the commit');
    over.resolve();
  };
  await app.queue.insertTask({ topic: 'work', tenant: 1 });
  await over.promise;
  expect(outcomes).toEqual([{ ran: true, value: 1 }, true, { ran: false }, false]);
  expect(await notes()).toEqual(['at least once', 'at least once', 'by 1', 'step']);
  await tenant().pool.query(
    `insert into tarefa_done select n, 'x', utc_timestamp(6) - interval 31 day from ${numbersTo(10_001)}`,
  );
  expect(await app.tenants.purgeDone('1', { olderThanDays: 30 })).toBe(10_001);
  const [left] = await tenant().pool.query('select * from tarefa_done');
  expect(left).toHaveLength(2);
});

test('of attempts that do the same once, one does it; one that fails lets the next', async () => {
  const app = await start();
  await app.tenants.createDedupTable('1');
  const task = { key: 'same', dead: false, tenant: '1' };
  for (const isGood of [false, true]) {
    const handles = await Promise.all(Array.from({ length: 4 }, () => app.tenants.open(task)));
    const [first, ...others] = handles;
    const [marked, goOn] = [deferred(), deferred()];
    const one = first!.once(async (tx) => {
      await note(`first ${isGood}`)(tx);
      marked.resolve();
      await goOn.promise;
      if (!isGood) throw new Error('on purpose');
    });
    await marked.promise;
    const rest = others.map((handle) => handle.once(note(`another ${isGood}`)));
    await until(async () => {
      const waiting = (await tenant().sessions()).filter(({ info }) => info?.includes('mark_as_done'));
      return waiting.length === others.length;
    }, 'the others wait');
    goOn.resolve();
    expect((await Promise.allSettled([one]))[0]?.status).toBe(isGood ? 'fulfilled' : 'rejected');
    const ran = (await Promise.all(rest)).filter((outcome) => outcome.ran);
    expect(ran).toHaveLength(isGood ? 0 : 1);
    for (const handle of handles) handle.quit();
    if (!isGood) await tenant().pool.query('truncate tarefa_done');
  }
  expect(await notes()).toEqual(['another false', 'first true']);
});

test('without its table once() says what is to be done', async () => {
  const app = await start();
  expect(await run(app, (db) => db.once(note('never')))).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(
      /no table for once\(\): create it with TenantDatabases.createDedupTable\('1'\)/,
    ),
  });
  expect(await notes()).toEqual([]);
});

test('the client is the driver’s own, and is dead after its handler', async () => {
  const app = await start({ maxConnectionsPerTenant: 1 });
  let kept: Connection | undefined;
  const task = await run(app, async (db) => {
    kept = (await db.client()) as unknown as Connection;
    const [rows] = await kept.execute('select ? as one', ['1']);
    expect(rows).toEqual([{ one: '1' }]);
    (kept as unknown as { release(): void }).release();
    await kept.beginTransaction();
    await kept.query(insert, ['by the client']);
    await kept.commit();
    await kept.end();
    await kept.query(insert, ['after end()']);
  });
  expect(task).toMatchObject(good);
  await expect(kept?.query('select 1')).rejects.toMatchObject({
    code: 'TASK_ENDED',
    message: expect.stringContaining('the database of the tenant was used'),
  });
  // The connection itself is well, and what was prepared on it is prepared again.
  await run(app, async (db) => {
    await ((await db.client()) as unknown as Connection).execute('select ? as one', ['1']);
  });
  expect(await notes()).toEqual(['after end()', 'by the client']);
});

test('a transaction that a handler leaves open fails its attempt, and is rolled back', async () => {
  const app = await start();
  const client = async (db: TenantDb) => (await db.client()) as unknown as Connection;
  for (const leave of [
    async (db: TenantDb) => (await client(db)).beginTransaction(),
    (db: TenantDb) => db.query('start transaction'),
    (db: TenantDb) => db.query('set autocommit = 0'),
  ]) {
    const left = await run(app, async (db) => {
      await leave(db);
      await db.query(insert, ['left']);
      await db.query('select * from note');
    });
    expect(left).toMatchObject({
      status: 'failed',
      message: expect.stringMatching(
        /ended with an open transaction in the database of tenant 1, which was rolled/,
      ),
    });
  }
  const thrown = await run(app, async (db) => {
    await db.query('start transaction');
    await db.query(insert, ['thrown']);
    throw new Error('on purpose');
  });
  expect(thrown).toMatchObject({ status: 'failed', message: expect.stringContaining('on purpose') });
  await until(async () => app.tenants.stats().every(({ inUse }) => inUse === 0), 'no connection is lent');
  expect(await run(app, (db) => db.query(insert, ['next']).then(() => 'done'))).toMatchObject(good);
  expect(await notes()).toEqual(['next']);
});

test('what a handler sends and does not wait for ends before its success, and its failure counts', async () => {
  const app = await start();
  const awaited = await run(app, (db) => {
    void db.query('do sleep(0.1)');
    void db.query(insert, ['late']);
  });
  expect(awaited).toMatchObject(good);
  expect(await notes()).toEqual(['late']);
  const bad = await run(app, (db) => void db.query('insert into nowhere values (1)'));
  expect(bad).toMatchObject({ status: 'failed', message: expect.stringContaining("nowhere' doesn't exist") });
});

test('a session goes on to the next attempt as it was lent to this one', async () => {
  const app = await start({ maxConnectionsPerTenant: 1 });
  const state = `select connection_id() as id, database() as name, @@session.time_zone as zone, @@session.sql_mode as mode,
    @@session.${mysqlOfRun === 'mysql' ? 'transaction_isolation' : 'tx_isolation'} as isolation, @@session.character_set_client as charset, @mine as mine,
    coalesce(is_used_lock('tenants'), 'nobody') as holder`;
  const seen: unknown[] = [];
  const changed = await run(app, async (db) => {
    seen.push((await db.query(state)).rows[0]);
    await db.query(`set time_zone = '+03:00', sql_mode = '', @mine = 1`);
    await db.query('set names latin1');
    await db.query('set session transaction isolation level serializable');
    await db.query('create temporary table own_note (text varchar(10))');
    await db.query(`do get_lock('tenants', 0)`);
    await db.query('use information_schema');
  });
  expect(changed).toMatchObject(good);
  const next = await run(app, async (db) => {
    seen.push((await db.query(state)).rows[0]);
    await expect(db.query('select * from own_note')).rejects.toMatchObject({ errno: 1146 });
  });
  expect(next).toMatchObject(good);
  expect(seen[1]).toEqual(seen[0]);
  expect(seen[0]).toMatchObject({ name: tenant().config.database, charset: 'utf8mb4', holder: 'nobody' });
});

test('an attempt that runs out of time loses its connection, and the server stops working for it', async () => {
  const app = await start();
  const late = await run(app, (db) => db.query('select sleep(60)'), 'hasty');
  expect(late).toMatchObject({ status: 'failed', message: expect.stringContaining('timeoutMs') });
  await until(
    async () => (await tenant().sessions()).every(({ info }) => !info?.includes('sleep')),
    'nobody sleeps',
  );
});

test('a statement without an answer, or a connection that the server ends, fails the attempt in words', async () => {
  const app = await start({ queryTimeoutMs: 300 });
  for (const sleeps of [
    (db: TenantDb) => db.query('select sleep(60)'),
    async (db: TenantDb) => ((await db.client()) as unknown as Connection).query('select sleep(60)'),
  ]) {
    const late = await run(app, sleeps);
    expect(late).toMatchObject({ status: 'failed', message: expect.stringMatching(/no answer/) });
  }
  await until(
    async () => (await tenant().sessions()).every(({ info }) => !info?.includes('sleep')),
    'nobody sleeps',
  );
  const killed = await run(app, async (db) => {
    const { rows } = await db.query('select connection_id() as id');
    await tenant().pool.query(`kill ${Number(rows[0]?.['id'])}`);
    await db.query(insert, ['never']);
  });
  expect(killed).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(/^the database of tenant 1 failed: /),
  });
  expect(await run(app, () => 'well')).toMatchObject({ message: 'well' });
});

test('the service for credentials answers the same fields as for PostgreSQL', async () => {
  const standIn = await startStandIn();
  standIn.onAsk = () => credentialsOf(tenant());
  const app = await start({ service: standIn.service });
  expect(await run(app, (db) => db.query(insert, ['by the service']))).toMatchObject(good);
  expect(await notes()).toEqual(['by the service']);
});
