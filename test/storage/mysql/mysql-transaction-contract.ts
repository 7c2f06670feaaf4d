import type { Connection } from 'mysql2/promise';
import { describe, expect, test } from 'vitest';
import type { TaskTransaction } from '../../../lib/storage/transactions.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { until } from '../../support/waiting.js';
import { claimNew, completionOf, failing, register, working } from '../conformance/opened.js';
import { useOpenedMysql, type OpenedMysql } from './mysql-opened.js';

const broken = { code: 'TRANSACTION_BROKEN' };

/** What `TaskTransactions` promise that only shows on one of these servers. */
export function exerciseMysqlTransactions(flavour: MysqlFlavour): void {
  const open = useOpenedMysql(flavour);

  /** A database with rows to meet at, and a transaction of a claimed task. */
  async function begin() {
    const opened = await open();
    const { database, ask } = opened;
    await ask('create table if not exists meeting (id int primary key, n int, text varchar(10))');
    const rows = Array.from({ length: 500 }, (_, index) => `(${index + 1}, 0)`).join();
    await ask(`replace into meeting (id, n) values ${rows}`);
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const transaction = database.transactions.begin(worker.id);
    const outcome = (): Promise<string> => database.attempts.readOutcome(worker.id, claimed);
    return { ...opened, worker, claimed, transaction, outcome };
  }

  /** Has a handler's statement chosen to be undone, with all that was done before it. */
  async function meet({ openSession, running }: OpenedMysql, handler: Pick<TaskTransaction, 'query'>) {
    const other = await openSession();
    await other.query('start transaction');
    // Whoever has changed less is undone.
    await other.query('update meeting set n = n + 1 where id > 1');
    await handler.query('update meeting set n = n + 1 where id = 1');
    const waiting = other.query('update meeting set n = n + 1 where id = 1 /* the other */');
    await running('the other');
    const met = handler.query('update meeting set n = n + 1 where id = 2');
    await expect(met).rejects.toMatchObject({ errno: 1213 });
    await waiting;
    await other.query('rollback');
  }

  async function isReset({ queue }: OpenedMysql): Promise<boolean> {
    return queue.tasks.use(async (run) => {
      const [answer] = await run('select @@autocommit as is_on');
      return answer?.rows[0]?.['is_on'] === '1';
    });
  }

  describe('a transaction that a handler has ended', () => {
    test('by a deadlock that it swallowed completes nothing, and keeps nothing', async () => {
      const opened = await begin();
      const { transaction, claimed, effects, outcome } = opened;
      await transaction.query(working);
      await meet(opened, transaction);
      await transaction.query(working);
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      await transaction.rollback();
      expect([await outcome(), await effects(), await isReset(opened)]).toEqual(['held', 0, true]);
    });

    test('by a deadlock that only its own client has seen completes nothing', async () => {
      const opened = await begin();
      const { transaction, claimed, effects, outcome } = opened;
      const client = (await transaction.client()) as Connection;
      await meet(opened, {
        query: async (text) => ({
          rows: [(await client.query(text))[0] as unknown as Record<string, unknown>],
        }),
      });
      await client.query(working);
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      await transaction.rollback();
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
    });

    test.each(['create table made (n int)', 'create table if not exists meeting (n int)', 'commit', 'begin'])(
      'by `%s` completes nothing, and keeps nothing of what came after',
      async (ending) => {
        const opened = await begin();
        const { transaction, claimed, effects, outcome, ask } = opened;
        await transaction.query(working);
        await transaction.query(ending);
        await transaction.query(working);
        await transaction.query(working);
        await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
        await transaction.rollback();
        expect([await outcome(), await isReset(opened)]).toEqual(['held', true]);
        // What was done before is committed.
        expect(await effects()).toBe(1);
        await ask('drop table if exists made');
      },
    );

    test('by its own rollback completes nothing', async () => {
      const { transaction, claimed, effects, outcome } = await begin();
      await transaction.query(working);
      await transaction.query('rollback');
      await transaction.query(working);
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
    });

    test('as a library does it completes nothing', async () => {
      const { transaction, claimed, effects, outcome } = await begin();
      const client = (await transaction.client()) as Connection;
      await client.beginTransaction();
      await client.query(working);
      await client.rollback();
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
    });
  });

  describe('locks', () => {
    test('a wait that a handler swallowed undoes all of its work', async () => {
      const opened = await begin();
      const { transaction, claimed, effects, outcome, openSession } = opened;
      const other = await openSession();
      await other.query('start transaction; update meeting set n = 1 where id = 1');
      await transaction.query(working);
      await transaction.query('set session innodb_lock_wait_timeout = 1');
      const waiting = transaction.query('update meeting set n = 2 where id = 1');
      await expect(waiting).rejects.toMatchObject({ errno: 1205 });
      await transaction.query('set session innodb_lock_wait_timeout = 50');
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      await transaction.rollback();
      await other.query('rollback');
      expect([await outcome(), await effects(), await isReset(opened)]).toEqual(['held', 0, true]);
    });

    test('a savepoint of the handler’s own may fail', async () => {
      const { transaction, claimed, effects, outcome } = await begin();
      await transaction.query(working);
      await transaction.query('savepoint mine');
      await transaction.query(working);
      await expect(transaction.query(failing)).rejects.toThrow('nowhere');
      await transaction.query('rollback to savepoint mine');
      await transaction.complete(completionOf(claimed));
      expect([await outcome(), await effects()]).toEqual(['completed', 1]);
    });
  });

  describe('connections', () => {
    test('statements of others keep none from being opened, or asked what it does, whatever their characters', async () => {
      const opened = await begin();
      const other = await opened.openSession();
      const running = other.query('select sleep(1) /* \u{10FFFF} */');
      await opened.transaction.query(working);
      await running;
      await opened.transaction.complete(completionOf(opened.claimed));
      expect(await opened.outcome()).toBe('completed');
    });

    test('one that was used is given back as it was lent', async () => {
      const opened = await begin();
      await opened.transaction.query(working);
      await opened.transaction.complete(completionOf(opened.claimed));
      expect(await isReset(opened)).toBe(true);
      const second = await begin();
      await second.transaction.query(working);
      await second.transaction.rollback();
      expect(await isReset(second)).toBe(true);
    });

    test('a session that is killed under a statement fails its attempt, and no other', async () => {
      const { transaction, claimed, effects, outcome, running, ask, database, worker } = await begin();
      await transaction.query(working);
      const sleeping = transaction.query('select sleep(30) /* until it is killed */');
      const outcomes = Promise.allSettled([sleeping]);
      await ask(`kill ${await running('until it is killed')}`);
      expect(await outcomes).toMatchObject([{ status: 'rejected' }]);
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      await transaction.rollback();
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
      const next = database.transactions.begin(worker.id);
      await next.query(working);
      await next.complete(completionOf(claimed));
      expect([await outcome(), await effects()]).toEqual(['completed', 1]);
    });

    test('a session that is gone at the end leaves the outcome to be read', async () => {
      const { transaction, claimed, effects, outcome, ask } = await begin();
      const { rows } = await transaction.query('select connection_id() as id');
      await transaction.query(working);
      await ask(`kill ${Number(rows[0]?.['id'])}`);
      const completing = transaction.complete(completionOf(claimed));
      await expect(completing).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
      await transaction.rollback();
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
    });

    test('a transaction that is cut off ends on the server as well, and tells who waits', async () => {
      const { transaction, effects, outcome, running, ask } = await begin();
      await transaction.query(working);
      const sleeping = transaction.query('select sleep(30) /* until it is cut off */');
      const session = await running('until it is cut off');
      transaction.destroy(new Error('it took too long'));
      await expect(sleeping).rejects.toThrow('it took too long');
      await until(async () => {
        const sessions = await ask('show full processlist');
        return sessions.every(({ Id }) => Id !== session);
      }, 'the session is gone');
      expect([await outcome(), await effects()]).toEqual(['held', 0]);
      await expect(transaction.query(working)).rejects.toMatchObject({ code: 'TASK_ENDED' });
    });
  });

  describe('what handlers read', () => {
    test('values are those of the driver', async () => {
      const { transaction } = await begin();
      const { rows } = await transaction.query(
        `select 1 as n, 1.5e0 as x, cast(9007199254740993 as signed) as big, cast('2026-11-25 20:46:00.5' as datetime(6)) as at, ? as text`,
        ['é?'],
      );
      expect(rows).toEqual([
        {
          n: expect.anything(),
          x: 1.5,
          big: '9007199254740993',
          at: new Date('2026-11-25T20:46:00.500Z'),
          text: 'é?',
        },
      ]);
      await transaction.rollback();
    });

    test('a statement tells how many rows it has found, the first one as well', async () => {
      const { transaction } = await begin();
      const update = `update meeting set text = 'same' where id < ?`;
      expect(await transaction.query(update, [3])).toEqual({ rows: [], rowCount: 2 });
      expect(await transaction.query(update, [3])).toEqual({ rows: [], rowCount: 2 });
      const select = 'select id from meeting where id < 3 order by id';
      expect(await transaction.query(select)).toEqual({ rows: [{ id: 1 }, { id: 2 }], rowCount: 2 });
      await transaction.rollback();
    });

    test('statements sent at once run in their order, in one transaction', async () => {
      const { transaction, claimed, effects } = await begin();
      const select = 'select count(*) as n from effect';
      const [, counted] = await Promise.all([transaction.query(working), transaction.query(select)]);
      expect(Number(counted.rows[0]?.['n'])).toBe(1);
      await transaction.complete(completionOf(claimed));
      expect(await effects()).toBe(1);
    });
  });

  describe('the driver’s client', () => {
    test('works inside of the transaction, and giving it back does nothing', async () => {
      const { transaction, claimed, effects, outcome } = await begin();
      const client = (await transaction.client()) as Connection & { release(): void };
      await client.query(working);
      await client.execute('insert into effect (n) values (?)', [1]);
      client.release();
      await client.end();
      await transaction.query(working);
      await transaction.complete(completionOf(claimed));
      expect([await outcome(), await effects()]).toEqual(['completed', 3]);
      await expect(client.query(working)).rejects.toMatchObject({ code: 'TASK_ENDED' });
      await expect(client.execute(working)).rejects.toMatchObject({ code: 'TASK_ENDED' });
      expect(await effects()).toBe(3);
    });

    test('an error that is swallowed there breaks the transaction', async () => {
      const { transaction, claimed, outcome } = await begin();
      const client = (await transaction.client()) as Connection;
      await client.query(working);
      await expect(client.query(failing)).rejects.toThrow('nowhere');
      await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject(broken);
      await transaction.rollback();
      expect(await outcome()).toBe('held');
    });
  });
}
