import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromMysql2,
  fromSequelize,
  fromTypeOrm,
  QueueAdmin,
  QueueClient,
  TaskHandler,
  type EquivalentTaskInput,
  type SqlHandle,
  type TaskContext,
  type TaskInput,
} from '../../lib/index.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../support/mysql.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { openMysqlLibraries, type MysqlLibraries } from './mysql-libraries.js';

const beyondDoubles = 9_007_199_254_740_993n;
const names = [
  'TypeORM EntityManager',
  'Knex',
  'Drizzle on mysql2',
  'Kysely',
  'MikroORM',
  'Sequelize',
  'mysql2',
  'mysql2 with typeCast',
  'the shape of Prisma',
];

/** Texts on which placeholders, quotes and encodings break, and numbers that doubles cannot hold. */
function task(externalKey: string): TaskInput & { readonly topic: string } {
  return {
    topic: 'olá ? $1 ?? :name 🦄',
    payload: { note: 'it\'s "日本" \\ ? $2', amount: '9007199254740993' },
    externalKey,
    tenant: beyondDoubles,
    priority: 7,
    metadata: { question: '?', nested: { list: [1, '$3', null] } },
  };
}

function pick(key: string): EquivalentTaskInput {
  const { priority: _priority, metadata: _metadata, ...equal } = task(key);
  return equal;
}

/** Every adapter with its real library, on a server of that kind. */
export function exerciseAdapters(flavour: MysqlFlavour): void {
  let database: MysqlTestDatabase;
  let libraries: MysqlLibraries;
  let app: QueueApp;

  class Handlers {
    @TaskHandler('complete')
    async complete({ name, undo }: { name: string; undo: boolean }, ctx: TaskContext): Promise<void> {
      await transactionOf(name)(async (tx) => {
        await tx.query('insert into orders values (?)', [ctx.task.id]);
        await ctx.completeIn(tx, { done: true });
        if (undo) throw new Error('changed my mind');
      });
    }
  }

  beforeAll(async () => {
    database = await createMysqlDatabase(flavour);
    await database.pool.query('create table orders (id varchar(40) primary key)');
    app = await startApp(database, { handlers: [Handlers], maxAttempts: 1 });
    await database.pool.query(`alter table tasks auto_increment = ${beyondDoubles + 1n}`);
    libraries = await openMysqlLibraries(database);
  }, mysqlStartMs);

  afterAll(async () => {
    await app?.close();
    await libraries?.close();
    await database?.drop();
  });

  const transactionOf = (name: string): MysqlLibraries['transactions'][string] => {
    const transaction = libraries.transactions[name];
    if (!transaction) throw new Error(`no transaction of ${name}`);
    return transaction;
  };

  test('every library is tried', () => {
    expect(Object.keys(libraries.transactions)).toEqual(names);
  });

  describe.each(names)('a transaction of %s', (name) => {
    test('commits the tasks with its own rows', async () => {
      const { queue } = app;
      const key = randomUUID();
      const ids = await transactionOf(name)(async (tx) => {
        await tx.query('insert into orders values (?)', [key]);
        const one = await queue.insertTask({ ...task(key), delayMs: 60_000.5 }, { tx });
        const later = { ...task(key), runAt: new Date('2031-02-03T04:05:06.789Z') };
        const many = await queue.insertTasks([task(key), later], { tx });
        const publication = await queue.insertTaskPubSub(task(key), { tx });
        const own = await queue.listEquivalentTask(pick(key), { tx });
        expect(own.map(({ id }) => id)).toEqual([one, ...many, publication]);
        expect(own.map((found) => found.publication)).toEqual([false, false, false, true]);
        const tenant = String(beyondDoubles);
        expect(own[0]).toMatchObject({ attempt: 1, priority: 7, tenant, dead: false, retried: false });
        return [one, ...many, publication];
      });
      expect(ids.every((id) => BigInt(id) > beyondDoubles)).toBe(true);
      const equal = await queue.listEquivalentTask({
        ...pick(key),
        status: ['pending', 'scheduled', 'processing', 'succeeded'],
      });
      expect(equal.map(({ id }) => id)).toEqual(ids);
      expect(equal[0]?.status).toBe('scheduled');
      expect(equal[2]?.dueAt.toISOString()).toBe('2031-02-03T04:05:06.789Z');
      const { topic, payload, metadata } = task(key);
      expect(equal[0]).toMatchObject({ topic, metadata, tenant: String(beyondDoubles), priority: 7 });
      expect(JSON.parse(equal[0]?.payload ?? '')).toEqual(payload);
      expect(await countOrders(key)).toBe(1);
    });

    test('leaves nothing when it rolls back', async () => {
      const { queue } = app;
      const key = randomUUID();
      const rolledBack = transactionOf(name)(async (tx) => {
        await tx.query('insert into orders values (?)', [key]);
        await queue.insertTask(task(key), { tx });
        throw new Error('as wanted');
      });
      await expect(rolledBack).rejects.toThrow('as wanted');
      expect(await queue.listEquivalentTask(pick(key))).toEqual([]);
      expect(await countOrders(key)).toBe(0);
    });

    test('cancels tasks by their ids and by their key when it commits, and none when it rolls back', async () => {
      const { queue } = app;
      const admin = app.app.get(QueueAdmin);
      const key = randomUUID();
      const ids = await queue.insertTasks([task(key), { ...task(key), delayMs: 3_600_000 }]);
      const [one = '', other = ''] = ids;
      const cancelAll = async (tx: SqlHandle): Promise<readonly string[]> => [
        ...(await admin.cancel([one], { tx, by: 'ana' })).cancelled,
        ...(await admin.cancel({ topic: task(key).topic, externalKey: key }, { tx })).cancelled,
      ];
      const rolledBack = transactionOf(name)(async (tx) => {
        throw new Error(`${(await cancelAll(tx)).length} were cancelled`);
      });
      await expect(rolledBack).rejects.toThrow('2 were cancelled');
      expect((await admin.list({ ids })).tasks.map(({ status }) => status)).toEqual(['scheduled', 'pending']);
      expect(await transactionOf(name)(cancelAll)).toEqual(ids);
      const { tasks } = await admin.list({ ids });
      expect(tasks.map(({ id, status, cancelledBy }) => [id, status, cancelledBy])).toEqual([
        [other, 'cancelled', null],
        [one, 'cancelled', 'ana'],
      ]);
    });

    test('answers rows, none for a change', async () => {
      const key = randomUUID();
      await transactionOf(name)(async (tx) => {
        const inserted = await tx.query('insert into orders values (?)', [key]);
        const found = await tx.query('select id from orders where id = ?', [key]);
        const updated = await tx.query('update orders set id = ? where id = ?', [key, key]);
        const missed = await tx.query('select id from orders where id = ?', ['none']);
        const literal = await tx.query("select '?' as asked");
        expect([inserted, found, updated, missed, literal].map(({ rows }) => rows)).toEqual([
          [],
          [{ id: key }],
          [],
          [],
          [{ asked: '?' }],
        ]);
      });
    });

    test('ends a task with it, and fails the attempt when it rolls back', async () => {
      const { queue, events } = app;
      const kept = await queue.insertTask({ topic: 'complete', payload: { name, undo: false } });
      await nextEvent(events, 'task.completed', ({ task: { id } }) => id === kept);
      expect(await countOrders(kept)).toBe(1);
      const undone = await queue.insertTask({ topic: 'complete', payload: { name, undo: true } });
      await nextEvent(events, 'task.failed', ({ task: { id } }) => id === undone);
      expect(await countOrders(undone)).toBe(0);
    });
  });

  test.each<[string, () => SqlHandle]>([
    ['TypeORM', () => fromTypeOrm(libraries.dataSource)],
    ['TypeORM', () => fromTypeOrm(libraries.dataSource.createQueryRunner())],
    ['Knex', () => fromKnex(libraries.knex)],
    ['Drizzle', () => fromDrizzle(libraries.onMysql2, sql)],
    ['Kysely', () => fromKysely(libraries.kysely)],
    ['MikroORM', () => fromMikroOrm(libraries.orm.em.fork())],
    ['Sequelize', () => fromSequelize(libraries.sequelize, undefined as never)],
    ['a pool of mysql2', () => fromMysql2(libraries.pool)],
  ])('%s without a transaction is refused', (_, adapt) => {
    expect(adapt).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }) as Error);
    expect(adapt).toThrow(/a transaction is required/);
  });

  test('a connection of mysql2 that has begun nothing, or is not wrapped, is refused before anything is inserted', async () => {
    const { queue } = app;
    const key = randomUUID();
    const connection = await libraries.pool.getConnection();
    const outside = queue.insertTask(task(key), { tx: fromMysql2(connection) });
    await expect(outside).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('a mysql2 connection without a transaction') as unknown,
    });
    for (const tx of [connection, libraries.pool] as unknown as SqlHandle[]) {
      await expect(queue.insertTask(task(key), { tx })).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining('wrap it with fromMysql2()') as unknown,
      });
    }
    await connection.query('set autocommit = 0');
    const ids = await queue.insertTasks([task(key)], { tx: fromMysql2(connection) });
    expect(ids).toHaveLength(1);
    await connection.rollback();
    connection.destroy();
    expect(await queue.listEquivalentTask(pick(key))).toEqual([]);
  });

  test('a unique key is looked up as it is now, whatever a transaction has read before', async () => {
    const { queue, events } = app;
    const key = randomUUID();
    const unique = { key, onConflict: 'return' } as const;
    const connection = await libraries.pool.getConnection();
    const payload = { name: 'Knex', undo: false };
    const first = await queue.insertTask({ topic: 'complete', payload, unique, delayMs: 3_600_000 });
    await connection.query('set transaction isolation level repeatable read');
    await connection.beginTransaction();
    await connection.query('select count(*) from tasks');
    const ended = nextEvent(events, 'task.completed', ({ task: { id } }) => id === first);
    await app.app.get(QueueAdmin).runNow(first);
    await ended;
    const later = { topic: 'nobody', unique, delayMs: 3_600_000 };
    const second = await queue.insertTask(later, { tx: fromMysql2(connection) });
    expect(second).not.toBe(first);
    await connection.commit();
    connection.release();
    expect(await queue.insertTask(later)).toBe(second);
  });

  test('another unique index on the table is what an insert fails by, and its row stays as it is', async () => {
    const { queue } = app;
    const key = randomUUID();
    await database.pool.query('alter table tasks add unique index by_origin (origem)');
    const theirs = { topic: 'nobody', origin: key, payload: 'theirs', delayMs: 3_600_000 };
    const other = await queue.insertTask(theirs);
    for (const onConflict of ['reject', 'return', 'replace'] as const) {
      const unique = { key, while: 'pending', onConflict } as const;
      const inserted = queue.insertTask({ ...theirs, payload: 'ours', unique });
      await expect(inserted).rejects.toMatchObject({ errno: 1062 });
    }
    const [rows] = await database.pool.query<RowDataPacket[]>(
      'select cast(id as char) as id, payload, status from tasks where origem = ?',
      [key],
    );
    expect(rows).toEqual([{ id: other, payload: 'theirs', status: 'agendada' }]);
    await database.pool.query('alter table tasks drop index by_origin');
  });

  test.each(['commit', 'rollback'])(
    'a transaction of two phases is prepared, and ends by %s',
    async (end) => {
      const { queue } = app;
      const key = randomUUID();
      const connection = await libraries.pool.getConnection();
      await connection.query(`xa start '${key}'`);
      const ids = await queue.insertTasks([task(key)], { tx: fromMysql2(connection) });
      await connection.query(`xa end '${key}'`);
      await connection.query(`xa prepare '${key}'`);
      expect(await queue.listEquivalentTask(pick(key))).toEqual([]);
      await connection.query(`xa ${end} '${key}'`);
      connection.release();
      const status = ['pending', 'processing', 'succeeded', 'failed'] as const;
      const equal = await queue.listEquivalentTask({ ...pick(key), status });
      expect(equal.map(({ id }) => id)).toEqual(end === 'commit' ? ids : []);
    },
  );

  test('a client without the module inserts through a connection', async () => {
    const key = randomUUID();
    const connection = await libraries.pool.getConnection();
    const client = new QueueClient(fromMysql2(connection), { table: 'tasks', driver: 'mysql' });
    const ids = [
      await client.insertTask({ ...task(key), topic: 'nobody' }),
      ...(await client.insertTasks([{ ...task(key), topic: 'nobody' }])),
    ];
    const equal = await client.listEquivalentTask({ ...pick(key), topic: 'nobody' });
    expect(equal.map(({ id }) => id)).toEqual(ids);
    const many = Array.from({ length: 1_001 }, () => ({ topic: 'nobody' }));
    await expect(client.insertTasks(many)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    connection.release();
  });

  async function countOrders(id: string): Promise<number> {
    const text = 'select count(*) as n from orders where id = ?';
    const [rows] = await database.pool.query<RowDataPacket[]>(text, [id]);
    return Number(rows[0]?.['n']);
  }
}
