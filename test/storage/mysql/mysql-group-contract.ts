import type { Connection } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { GroupBroken, type GroupedTransaction, type TaskGroup } from '../../../lib/storage/transactions.js';
import type { ClaimedTask } from '../../../lib/storage/attempt.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import { claimNew, completionOf, failing, register, working } from '../conformance/opened.js';
import { useOpenedMysql } from './mysql-opened.js';

/** What `TaskTransactions.beginGroup` promises that only shows on one of these servers. */
export function exerciseMysqlGroups(flavour: MysqlFlavour): void {
  const open = useOpenedMysql(flavour);

  /** A database with a group and claims for it. */
  async function begin(tasks: number) {
    const opened = await open();
    const { database, queue, ask } = opened;
    const worker = await register(database);
    const claims: ClaimedTask[] = [];
    for (let task = 0; task < tasks; task += 1) claims.push(await claimNew(database, worker));
    const group = database.transactions.beginGroup(worker.id);
    const outcomes = (): Promise<string[]> =>
      Promise.all(claims.map((claim) => database.attempts.readOutcome(worker.id, claim)));
    const marks = async (): Promise<number> => (await ask(`select 1 from ${queue.tables.history}`)).length;
    return { ...opened, group, claims, outcomes, marks };
  }

  /** Runs the next task of a group; returns how its completion ends. */
  async function work(
    group: TaskGroup,
    claimed: ClaimedTask | undefined,
    handler: (part: GroupedTransaction) => Promise<unknown> = (part) => part.query(working),
  ): Promise<{ readonly end: Promise<PromiseSettledResult<void>>; readonly part: GroupedTransaction }> {
    const part = group.next();
    await handler(part);
    const ended = Promise.allSettled([part.complete(completionOf(claimed ?? { id: '0', reservation: 0 }))]);
    await part.over;
    return { end: ended.then(([end]) => end), part };
  }

  test('tasks of a group that end well leave no mark', async () => {
    const { group, claims, outcomes, effects, marks } = await begin(3);
    const ends = [];
    for (const claimed of claims) ends.push((await work(group, claimed)).end);
    await group.commit();
    expect((await Promise.all(ends)).map(({ status }) => status)).toEqual(Array(3).fill('fulfilled'));
    expect(await outcomes()).toEqual(Array(3).fill('completed'));
    expect([await effects(), await marks()]).toEqual([3, 0]);
  });

  test.each([
    ['commit', true, 2],
    ['create table if not exists effect (n int)', true, 2],
    ['rollback', false, 0],
  ])('after `%s` of one the others hear whether their work is kept', async (ending, kept, effectsLeft) => {
    const { group, claims, outcomes, effects, marks } = await begin(2);
    const first = await work(group, claims[0]);
    const second = await work(group, claims[1], async (part) => {
      await part.query(working);
      await part.query(ending);
      await part.query(working);
    });
    expect(await second.end).toMatchObject({ reason: { code: 'TRANSACTION_BROKEN' } });
    expect(group.broken).toBe(true);
    await group.commit();
    const end = await first.end;
    expect(end).toMatchObject({ status: 'rejected', reason: expect.any(GroupBroken) });
    expect(end).toMatchObject({ reason: { kept } });
    expect(await outcomes()).toEqual(['held', 'held']);
    expect([await effects(), await marks()]).toEqual([effectsLeft, 0]);
  });

  test('a transaction that was ended by a client of the driver is noticed by the task itself', async () => {
    const { group, claims } = await begin(2);
    const first = await work(group, claims[0]);
    const second = await work(group, claims[1], async (part) => {
      const client = (await part.client()) as Connection;
      await client.query(working);
      await client.commit();
    });
    expect(await second.end).toMatchObject({ reason: { code: 'TRANSACTION_BROKEN' } });
    expect(await first.end).toMatchObject({ reason: { kept: true } });
  });

  test('a procedure that commits is noticed as well', async () => {
    const { group, claims, ask } = await begin(3);
    await ask('drop procedure if exists committing');
    await ask('create procedure committing() commit');
    const first = await work(group, claims[0]);
    const second = await work(group, claims[1], (part) => part.query('call committing()'));
    expect(await second.end).toMatchObject({ reason: { code: 'TRANSACTION_BROKEN' } });
    expect(await first.end).toMatchObject({ reason: { kept: true } });
    expect(group.broken).toBe(true);
  });

  test('a deadlock undoes the whole group, through no fault of a task', async () => {
    const { group, claims, outcomes, effects, ask, openSession, running } = await begin(2);
    await ask('create table if not exists meeting (id int primary key, n int)');
    // Whoever has changed less is undone.
    const rows = Array.from({ length: 500 }, (_, index) => `(${index + 1}, 0)`).join();
    await ask(`replace into meeting (id, n) values ${rows}`);
    const other = await openSession();
    await other.query('start transaction; update meeting set n = n + 1 where id > 1');
    const first = await work(group, claims[0]);
    const second = await work(group, claims[1], async (part) => {
      await part.query('update meeting set n = n + 1 where id = 1');
      const waiting = other.query('update meeting set n = n + 1 where id = 1 /* the other */');
      await running('the other');
      await expect(part.query('update meeting set n = n + 1 where id = 2')).rejects.toMatchObject({
        errno: 1213,
      });
      await waiting;
      await other.query('rollback');
    });
    const ends = await Promise.all([first.end, second.end]);
    expect(ends.map((end) => 'reason' in end && (end.reason as GroupBroken).kept)).toEqual([false, false]);
    expect([first.part.disturbed, second.part.disturbed]).toEqual([false, true]);
    expect([await outcomes(), await effects()]).toEqual([['held', 'held'], 0]);
  });

  test('a savepoint of a handler’s own may fail', async () => {
    const { group, claims, outcomes, effects } = await begin(2);
    const first = await work(group, claims[0], async (part) => {
      await part.query(working);
      await part.query('savepoint mine');
      await expect(part.query(failing)).rejects.toThrow('nowhere');
      await part.query('rollback to savepoint mine');
    });
    const second = await work(group, claims[1]);
    await group.commit();
    expect([(await first.end).status, (await second.end).status]).toEqual(['fulfilled', 'fulfilled']);
    expect([await outcomes(), await effects()]).toEqual([['completed', 'completed'], 2]);
  });

  test('a session that is gone leaves the outcomes to be read', async () => {
    const { group, claims, outcomes, effects, ask } = await begin(2);
    const first = await work(group, claims[0]);
    let id = 0;
    const second = await work(group, claims[1], async (part) => {
      const { rows } = await part.query('select connection_id() as id');
      id = Number(rows[0]?.['id']);
    });
    await ask(`kill ${id}`);
    await group.commit();
    expect(await Promise.all([first.end, second.end])).toMatchObject([
      { reason: { code: 'CONNECTION_LOST' } },
      { reason: { code: 'CONNECTION_LOST' } },
    ]);
    expect([await outcomes(), await effects()]).toEqual([['held', 'held'], 0]);
  });
}
