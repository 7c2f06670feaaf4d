import type { PoolClient } from 'pg';
import { expect, test } from 'vitest';
import {
  TenantDatabases,
  type TaskContext,
  type TenantDatabaseOptions,
  type TenantDb,
} from '../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { startProxy } from '../support/database-proxy.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue, type AttemptRow } from '../worker/queue-bench.js';
import { TenantWork } from './kit/tenant-work.js';
import { useTenants } from './kit/tenants.js';

const bench = useQueue();
const tenantOf = useTenants('1');

function start(tenants: TenantDatabaseOptions = {}, options: QueueAppOptions = {}): Promise<QueueApp> {
  return bench.start({
    handlers: [TenantWork],
    tenantDatabases: { resolve: () => ({ ...tenantOf('1').config }), ...tenants },
    retryIntervalMinutes: 0,
    maxAttempts: 1,
    ...options,
  });
}

/** Runs a handler that does that, and answers its attempt. */
async function run(
  { queue }: Pick<QueueApp, 'queue'>,
  work: (db: TenantDb, ctx: TaskContext) => unknown,
  topic = 'work',
): Promise<AttemptRow> {
  TenantWork.work = async (ctx) => work(await ctx.tenantDb(), ctx);
  return bench.ended(await queue.insertTask({ topic, tenant: 1 }));
}

const note = 'insert into note values ($1)';
const notes = (): Promise<readonly string[]> => tenantOf('1').notes();
const idle = async (app: QueueApp): Promise<unknown> => {
  const tenants = app.app.get(TenantDatabases, { strict: false });
  return until(async () => tenants.stats().every(({ inUse }) => inUse === 0), 'no connection is lent');
};

test('statements commit one by one, in order, and tell rows and counts', async () => {
  const app = await start();
  const row = await run(app, async (db, ctx) => {
    expect(await ctx.tenantDb()).toBe(db);
    const answers = await Promise.all(['b', 'a', 'c'].map((text) => db.query(note, [text])));
    expect(answers.map(({ rowCount }) => rowCount)).toEqual([1, 1, 1]);
    const { rows } = await db.query('select text from note');
    expect(rows.map(({ text }) => text)).toEqual(['b', 'a', 'c']);
    await expect(db.query('nonsense')).rejects.toMatchObject({ code: '42601' });
    return db.tenant;
  });
  expect(row).toMatchObject({ status: 'sucesso', mensagem: '1' });
  expect(await notes()).toEqual(['a', 'b', 'c']);
});

test('a transaction commits with its work, rolls back with its error, and is over then', async () => {
  const app = await start();
  const row = await run(app, async (db) => {
    let late: Parameters<Parameters<TenantDb['transaction']>[0]>[0] | undefined;
    const value = await db.transaction(async (tx) => {
      late = tx;
      await tx.query(note, ['kept']);
      return 'value';
    });
    await expect(late?.query('select 1')).rejects.toMatchObject({ code: 'TASK_ENDED' });
    const undone = db.transaction(async (tx) => {
      await tx.query(note, ['undone']);
      throw new Error('on purpose');
    });
    await expect(undone).rejects.toThrow('on purpose');
    const swallowed = db.transaction(async (tx) => {
      await tx.query(note, ['lost']);
      await tx.query('nonsense').catch(() => undefined);
    });
    await expect(swallowed).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    // What nobody waits for belongs to it as well.
    await db.transaction(async (tx) => {
      void tx.query(note, ['not awaited']);
    });
    await db.query(note, ['after']);
    return value;
  });
  expect(row).toMatchObject({ status: 'sucesso', mensagem: 'value' });
  expect(await notes()).toEqual(['after', 'kept', 'not awaited']);
});

test('beside a transaction nothing else goes through its connection unnoticed', async () => {
  const app = await start();
  const row = await run(app, async (db) => {
    await db.transaction(async (tx) => {
      const beside = { code: 'TRANSACTION_BROKEN', message: expect.stringContaining('use the tx') };
      await expect(db.query(note, ['beside'])).rejects.toMatchObject(beside);
      await expect(db.transaction(async () => undefined)).rejects.toMatchObject(beside);
      await expect(db.once(async () => undefined)).rejects.toMatchObject(beside);
      await tx.query(note, ['inside']);
    });
  });
  expect(row).toMatchObject({ status: 'sucesso' });
  expect(await notes()).toEqual(['inside']);
});

test('after its handler a handle is dead, and so is the client that it gave', async () => {
  const app = await start({ maxConnectionsPerTenant: 1 });
  let kept: { db: TenantDb; client: PoolClient; query: PoolClient['query']; ctx: TaskContext } | undefined;
  const row = await run(app, async (db, ctx) => {
    const client = await db.client();
    client.release();
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    kept = { db, client, query: client.query.bind(client), ctx };
  });
  expect(row).toMatchObject({ status: 'sucesso' });
  const dead = { code: 'TASK_ENDED' };
  const { db, client, query, ctx } = kept!;
  await expect(db.query('select 1')).rejects.toMatchObject(dead);
  await expect(db.transaction(async () => undefined)).rejects.toMatchObject(dead);
  await expect(db.once(async () => undefined)).rejects.toMatchObject(dead);
  await expect(db.client()).rejects.toMatchObject(dead);
  await expect(client.query('select 1')).rejects.toMatchObject(dead);
  await expect(query('select 1')).rejects.toMatchObject(dead);
  await expect(client.end()).rejects.toMatchObject(dead);
  const called = await new Promise((resolve) => client.query('select 1', [], (error) => resolve(error)));
  expect(called).toMatchObject(dead);
  expect(await (await ctx.tenantDb()).query('select 1').catch((error: unknown) => error)).toMatchObject(dead);
  // The connection itself is well, and serves the next one.
  await run(app, (next) => next.query(note, ['next']));
  expect(await notes()).toEqual(['next']);
});

test('a handler that asks only when it has ended gets nothing', async () => {
  const app = await start();
  let ctx: TaskContext | undefined;
  TenantWork.work = (given) => void (ctx = given);
  await bench.ended(await app.queue.insertTask({ topic: 'work', tenant: 1 }));
  await expect(ctx?.tenantDb()).rejects.toMatchObject({ code: 'TASK_ENDED' });
});

test('a handler that does not wait for its connection gives it back anyway', async () => {
  const app = await start();
  TenantWork.work = (ctx) => void ctx.tenantDb();
  expect(await bench.ended(await app.queue.insertTask({ topic: 'work', tenant: 1 }))).toMatchObject({
    status: 'sucesso',
  });
  await idle(app);
});

test('a transaction that a handler leaves open fails its attempt, and is rolled back', async () => {
  const app = await start();
  const left = await run(app, async (db) => {
    const client = await db.client();
    await client.query('begin');
    await client.query(note, ['left']);
    return 'done';
  });
  expect(left).toMatchObject({
    status: 'falha',
    mensagem: expect.stringMatching(
      /ended with an open transaction in the database of tenant 1, which was rolled back/,
    ),
  });
  const thrown = await run(app, async (db) => {
    await (await db.client()).query('begin');
    await db.query(note, ['thrown']);
    throw new Error('on purpose');
  });
  expect(thrown).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('on purpose') });
  await idle(app);
  await run(app, (db) => db.query(note, ['next']));
  expect(await notes()).toEqual(['next']);
});

test('what a handler sends and does not wait for ends before its success, and its failure counts', async () => {
  const app = await start();
  const good = await run(app, (db) => {
    void db.query('select pg_sleep(0.1)');
    void db.query(note, ['late']);
  });
  expect(good).toMatchObject({ status: 'sucesso' });
  expect(await notes()).toEqual(['late']);
  const bad = await run(app, (db) => {
    void db.query('select pg_sleep(0.1)');
    void db.query('insert into nowhere values (1)');
  });
  expect(bad).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('"nowhere" does not exist'),
  });
  // Swallowed on purpose it is no failure.
  const swallowed = await run(app, (db) => db.query('nonsense').catch(() => 'went on'));
  expect(swallowed).toMatchObject({ status: 'sucesso', mensagem: 'went on' });
});

test('a session goes on to the next attempt as it was lent to this one', async () => {
  const app = await start({ maxConnectionsPerTenant: 1 });
  const pids: unknown[] = [];
  const changed = await run(app, async (db) => {
    pids.push((await db.query('select pg_backend_pid() as pid')).rows[0]?.['pid']);
    await db.query("set search_path = 'nowhere'");
    await db.query("set app.current_user_id = '5'");
    await db.query('create temp table own_note (text text)');
    await db.query('select pg_advisory_lock(1)');
    await db.query('listen bell');
  });
  expect(changed).toMatchObject({ status: 'sucesso' });
  let found: unknown;
  await run(app, async (db) => {
    const { rows } = await db.query(
      `select pg_backend_pid() as pid, current_schemas(false)::text as schemas,
         current_setting('app.current_user_id', true) as user_id, to_regclass('pg_temp.own_note') as temporary,
         (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
         (select count(*)::int from pg_listening_channels()) as channels`,
    );
    found = rows[0];
  });
  expect(found).toEqual({
    pid: pids[0],
    schemas: '{public}',
    user_id: '',
    temporary: null,
    locks: 0,
    channels: 0,
  });
});

test('an attempt that runs out of time loses its connection, and the server stops working for it', async () => {
  const app = await start();
  const row = await run(app, (db) => db.query('select pg_sleep(60)'), 'hasty');
  expect(row).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('timeoutMs') });
  await until(async () => {
    const { rowCount } = await tenantOf('1').pool.query(
      `select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(60)%'
       and state = 'active' and pid <> pg_backend_pid()`,
    );
    return rowCount === 0;
  }, 'nobody sleeps');
});

test('a database that falls silent in the middle fails its statement in time, and its connection is given up', async () => {
  const { user, password, database, host, port } = tenantOf('1').config;
  const proxy = await startProxy({ url: `postgres://${user}:${password}@${host}:${port}/${database}` });
  try {
    const app = await start({ resolve: () => proxy.url, queryTimeoutMs: 1_000 });
    const row = await run(app, async (db) => {
      await db.query('select 1');
      proxy.silence('tenant');
      await db.query(note, ['silent']);
    });
    expect(row).toMatchObject({
      status: 'falha',
      mensagem: expect.stringMatching(
        /^the database of tenant 1 failed: no answer within tenantDatabases.queryTimeoutMs/,
      ),
    });
    proxy.pass();
    expect(await run(app, (db) => db.query(note, ['again']).then(() => 'well'))).toMatchObject({
      mensagem: 'well',
    });
  } finally {
    await proxy.close();
  }
});

test('a database that ends the connection in the middle fails the attempt, and the next one gets another', async () => {
  const app = await start();
  const { pool } = tenantOf('1');
  const row = await run(app, async (db) => {
    const { rows } = await db.query('select pg_backend_pid() as pid');
    const running = db.query('select pg_sleep(60)');
    await until(async () => {
      const { rowCount } = await pool.query('select from pg_stat_activity where pid = $1 and state = $2', [
        rows[0]?.['pid'],
        'active',
      ]);
      return rowCount === 1;
    }, 'it sleeps');
    await pool.query('select pg_terminate_backend($1)', [rows[0]?.['pid']]);
    await running;
  });
  expect(row).toMatchObject({
    status: 'falha',
    mensagem: expect.stringMatching(/^the database of tenant 1 failed: terminating connection/),
  });
  expect(await run(app, () => 'well')).toMatchObject({ mensagem: 'well' });
});

test('what is done there stays when the task rolls back, and both commit when it succeeds', async () => {
  const app = await start();
  await bench.pool.query('create table if not exists own (text text)');
  const failed = await run(app, async (db, ctx) => {
    await ctx.db.query("insert into own values ('undone')");
    await db.query(note, ['stays']);
    throw new Error('on purpose');
  });
  expect(failed).toMatchObject({ status: 'falha' });
  const good = await run(app, async (db, ctx) => {
    await ctx.db.query("insert into own values ('kept')");
    await db.query(note, ['also']);
  });
  expect(good).toMatchObject({ status: 'sucesso' });
  expect(await notes()).toEqual(['also', 'stays']);
  expect((await bench.pool.query('select text from own')).rows).toEqual([{ text: 'kept' }]);
});

test('what a handler leaves open there undoes its own transaction, too', async () => {
  const app = await start();
  await bench.pool.query('create table if not exists own (text text); truncate own');
  const row = await run(app, async (db, ctx) => {
    await ctx.db.query("insert into own values ('undone')");
    await (await db.client()).query('begin');
  });
  expect(row).toMatchObject({ status: 'falha' });
  expect((await bench.pool.query('select text from own')).rows).toEqual([]);
});

test('a task that ended in a transaction of its own stays ended, and what was left open there is told', async () => {
  const app = await start();
  const warned = nextEvent(app.events, 'warning');
  const row = await run(app, async (db, ctx) => {
    await (await db.client()).query('begin');
    const client = await bench.connect();
    await client.query('begin');
    await ctx.completeIn(client);
    await client.query('commit');
  });
  expect(row).toMatchObject({ status: 'sucesso' });
  expect(await warned).toEqual({
    message: expect.stringMatching(/task \d+ finished anyway.* open transaction/),
  });
  await idle(app);
});

test('grouped handlers and dead handlers have it as well', async () => {
  const app = await start();
  expect(await run(app, (db) => db.query(note, ['grouped']), 'grouped')).toMatchObject({ status: 'sucesso' });
  const dead = deferred();
  TenantWork.deadWork = async (ctx) => {
    await (await ctx.tenantDb()).query(note, ['dead']);
    dead.resolve();
  };
  await run(app, () => Promise.reject(new Error('on purpose')));
  await dead.promise;
  expect(await notes()).toEqual(['dead', 'grouped']);
});
