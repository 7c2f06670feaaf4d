import { expect, test } from 'vitest';
import { QueueClient } from '../../../../lib/index.js';
import { topicRoute } from '../../../../lib/storage/route.js';
import { useMysql } from '../../conformance/open-mysql.js';
import {
  claimAll,
  claimNew,
  completionOf,
  idsOf,
  insert,
  read,
  register,
  working,
} from '../../conformance/opened.js';
import { createWithStandIns, onMariadb } from './on-mariadb.js';

// What the dialect does in a way of its own, on MariaDB: see test/storage/conformance/singlestore.test.ts for all it shares.
const open = useMysql('mariadb', createWithStandIns, onMariadb);

test('workers that look at the same tasks claim each of them once', async () => {
  const { database } = await open();
  const ids: string[] = [];
  for (let count = 0; count < 40; count += 1) ids.push(await insert(database));
  const workers = [await register(database), await register(database), await register(database)];
  const demand = { routes: [{ route: topicRoute('a'), limit: 5 }], total: 5, order: 'age' } as const;
  const claimed: string[] = [];
  while (claimed.length < ids.length) {
    const answers = await Promise.all(
      workers.map(({ claims }) => {
        claims.invalidate();
        return claims.settleAndClaim([], demand);
      }),
    );
    claimed.push(...answers.flatMap((answer) => idsOf(answer.claimed)));
  }
  expect(claimed.toSorted()).toEqual(ids.toSorted());
});

test('a task for later that SQL has inserted is claimed by none, and scheduled at the next look', async () => {
  const { database, access, inTransaction } = await open();
  const worker = await register(database);
  await inTransaction((tx) =>
    tx.query(
      `insert into tasks (processo, data_hora) select 'a', date_add(now(6), interval 1 hour) from dual`,
    ),
  );
  const [task] = await access.inserted(undefined);
  const id = String(task?.id);
  expect((await read(access, id)).status).toBe('pending');
  expect(await claimAll(worker)).toEqual([]);
  expect(await database.attempts.promote(10)).toMatchObject({ promoted: 0 });
  expect((await read(access, id)).status).toBe('scheduled');
});

test('a client on a connection of the application inserts there, and refuses a unique key', async () => {
  const { access, inTransaction } = await open();
  await inTransaction(async (tx) => {
    const client = new QueueClient(tx, { table: 'tasks', driver: 'singlestore' });
    await client.insertTask({ topic: 'a', delayMs: 60_000 });
    await expect(client.insertTask({ topic: 'a', unique: 'b' })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });
  expect(await access.inserted(undefined)).toMatchObject([{ topic: 'a', status: 'scheduled' }]);
});

test('a routine is done by one process at a time, and by the next when it has ended', async () => {
  const { database } = await open();
  const { workers } = database;
  const done = await workers.runAlone('purge', async () => [
    await workers.runAlone('purge', async () => 'by another'),
    await workers.runAlone('retry', async () => 'another one'),
  ]);
  expect(done).toEqual([undefined, 'another one']);
  expect(await workers.runAlone('purge', async () => 'the next')).toBe('the next');
});

test('a routine whose process is gone is done when its lease has run out, or the clock was set back', async () => {
  const { database, inTransaction } = await open();
  const { workers } = database;
  await workers.runAlone('purge', async () => undefined);
  const held = (until: string): Promise<unknown> =>
    inTransaction((tx) => tx.query(`update tasks_lock set holder = 'gone', held_until = ${until}`));
  await held('date_add(now(6), interval 5 second)');
  expect(await workers.runAlone('purge', async () => 'too early')).toBeUndefined();
  // No lease is that long: the clock was set back.
  await held('date_add(now(6), interval 1 hour)');
  expect(await workers.runAlone('purge', async () => 'by a clock that is right')).toBe(
    'by a clock that is right',
  );
  await held('date_add(now(6), interval -1 second)');
  expect(await workers.runAlone('purge', async () => 'in its place')).toBe('in its place');
});

test.each([
  'commit',
  'rollback',
  'commit; start transaction',
  'create table if not exists of_a_handler (n int)',
])('a handler that says %s does not complete its task', async (statement) => {
  const { database, effects, inTransaction } = await open();
  const worker = await register(database);
  const claimed = await claimNew(database, worker);
  const transaction = database.transactions.begin(worker.id);
  await transaction.query('select 1');
  await transaction.query(statement);
  await transaction.query(working);
  await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject({
    code: 'TRANSACTION_BROKEN',
  });
  expect(await database.attempts.readOutcome(worker.id, claimed)).toBe('held');
  expect(await effects()).toBe(0);
  const { rows } = await inTransaction((tx) =>
    tx.query(`select l.name from tasks_lock l where l.name like 'task:%'`),
  );
  expect(rows).toEqual([]);
});

test('a transaction that is completed leaves no mark', async () => {
  const { database, effects, inTransaction } = await open();
  const worker = await register(database);
  const claimed = await claimNew(database, worker);
  const transaction = database.transactions.begin(worker.id);
  await transaction.query(working);
  await transaction.complete(completionOf(claimed));
  expect(await effects()).toBe(1);
  const { rows } = await inTransaction((tx) =>
    tx.query(`select l.name from tasks_lock l where l.name like 'task:%'`),
  );
  expect(rows).toEqual([]);
});

test('a group takes one task, which commits by itself', async () => {
  const { database, access, effects } = await open();
  const worker = await register(database);
  const [kept, undone] = [await claimNew(database, worker), await claimNew(database, worker)];
  const group = database.transactions.beginGroup(worker.id);
  expect(group.most).toBe(1);
  const part = group.next();
  await part.query(working);
  await part.complete(completionOf(kept));
  await part.over;
  await group.commit();
  expect((await read(access, kept.id)).status).toBe('succeeded');
  const other = database.transactions.beginGroup(worker.id).next();
  await other.query(working);
  await other.rollback();
  await other.over;
  expect(await database.attempts.readOutcome(worker.id, undone)).toBe('held');
  expect(await effects()).toBe(1);
});
