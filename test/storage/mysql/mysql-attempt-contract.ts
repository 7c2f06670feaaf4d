import { expect, test } from 'vitest';
import type { ClaimedTask, Failure } from '../../../lib/storage/attempt.js';
import { failAttempts, noteAttempts, snoozeAttempts } from '../../../lib/storage/mysql/attempt-ends.js';
import { publicationRoute, subscriptionRoute, topicRoute } from '../../../lib/storage/route.js';
import { DeliverySeal } from '../../../lib/webhooks/delivery-seal.js';
import { failureOf } from '../../support/queue-storage.js';
import type { MysqlFlavour } from '../../support/mysql.js';
import {
  claimAll,
  claimNew,
  completionOf,
  idsOf,
  insert,
  read,
  register,
  type TestWorker,
} from '../conformance/opened.js';
import { useOpenedMysql, type OpenedMysql } from './mysql-opened.js';

const never = { kind: 'never' } as const;
const unset = { tenant: null, group: null, url: null, httpMethod: null, headers: null, active: true };

/** What `AttemptStore` promises of the ends of attempts that only shows on one of these servers. */
export function exerciseMysqlAttempts(flavour: MysqlFlavour): void {
  const open = useOpenedMysql(flavour);

  /** Another session locks a row; returns what ends that. */
  async function lock({ openSession, queue }: OpenedMysql, id: string): Promise<() => Promise<unknown>> {
    const other = await openSession();
    await other.query(`start transaction; select 1 from ${queue.tables.queue} where id = ${id} for update`);
    return () => other.query('rollback');
  }

  async function publish({ database }: OpenedMysql, worker: TestWorker, topic = 'a'): Promise<ClaimedTask> {
    const id = await insert(database, { topic, payload: { text: `'";\\ \u{1f600}\n` } }, true);
    const found = (await claimAll(worker, [publicationRoute])).find((one) => one.id === id);
    if (!found) throw new Error(`publication ${id} was not claimed`);
    return found;
  }

  test('a row that another session has locked is left for the next call', async () => {
    const opened = await open();
    const { attempts } = opened.database;
    const worker = await register(opened.database);
    const [locked, free] = [await claimNew(opened.database, worker), await claimNew(opened.database, worker)];
    const unlock = await lock(opened, locked.id);
    const failures = [locked, free].map(({ id }) => failureOf(id, worker.id));
    expect(idsOf(await attempts.failMany(failures))).toEqual([free.id]);
    expect(await attempts.releaseMany(worker.id, [locked])).toEqual([]);
    const publication = await publish(opened, worker);
    const unlockPublication = await lock(opened, publication.id);
    expect(await attempts.fanOutMany(worker.id, [publication])).toEqual([]);
    await unlock();
    await unlockPublication();
    expect(await attempts.fanOutMany(worker.id, [publication])).toHaveLength(1);
    expect(await attempts.releaseMany(worker.id, [locked])).toEqual([locked.id]);
  });

  test('ids that were copied ahead of the others are in no next attempt’s way', async () => {
    const opened = await open();
    const { attempts } = opened.database;
    const worker = await register(opened.database);
    const { id } = await claimNew(opened.database, worker);
    const { queue } = opened.queue.tables;
    const copied = [1n, 2n, 3n].map((n) => `(${BigInt(id) + n}, 'old', 'sucesso')`);
    await opened.ask(`insert into ${queue} (id, processo, status) values ${copied.join(', ')}`);
    await opened.ask(`alter table ${queue} auto_increment = 1`);
    await attempts.failMany([failureOf(id, worker.id)]);
    const [, next] = await opened.access.attempts(id);
    expect(BigInt(next?.id ?? 0)).toBeGreaterThan(BigInt(id) + 3n);
  });

  test('what is due beside a locked attempt is promoted, and the lock does not hide that it is due', async () => {
    const opened = await open();
    const { database, access } = opened;
    const [locked, free] = [
      await insert(database, { delayMs: 1_000 }),
      await insert(database, { delayMs: 2_000 }),
    ];
    await access.travel(10_000);
    const unlock = await lock(opened, locked);
    const { promoted, nextDueInMs } = await database.attempts.promote(10);
    expect(promoted).toBe(1);
    expect(nextDueInMs).toBeLessThan(0);
    expect((await read(access, free)).status).toBe('pending');
    await unlock();
    expect(await database.attempts.promote(10)).toMatchObject({ promoted: 1, nextDueInMs: undefined });
  });

  test('an outcome waits for a transaction that is still under way', async () => {
    const { database, running } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const { outcome } = await database.inTransaction(async (tx) => {
      await database.transactions.completeIn(tx, worker.id, completionOf(claimed));
      const told = database.attempts.readOutcome(worker.id, claimed);
      await running('read_outcome');
      return { outcome: told };
    });
    expect(await outcome).toBe('completed');
  });

  test('a next attempt and a dead chain that were inserted by hand stay in their place', async () => {
    const { database, access, ask, queue } = await open();
    const worker = await register(database);
    const [retried, buried] = [await claimNew(database, worker), await claimNew(database, worker)];
    const { queue: table } = queue.tables;
    await ask(
      `insert into ${table} (id_inicial, id_anterior, tentativa, processo, mensagem) values (?, ?, 2, 'b', 'by hand')`,
      [retried.id, retried.id],
    );
    await ask(`insert into ${table} (dead, live_id, processo, mensagem) values (1, ?, 'b', 'by hand')`, [
      buried.id,
    ]);
    const outcomes = await database.attempts.failMany([
      failureOf(retried.id, worker.id),
      failureOf(buried.id, worker.id, { next: never }),
    ]);
    expect(outcomes.map(({ id, deadId }) => [id, deadId])).toEqual([
      [retried.id, undefined],
      [buried.id, undefined],
    ]);
    expect((await access.attempts(retried.id)).map(({ message }) => message)).toEqual([
      'boom (will be tried again)',
      'by hand',
    ]);
    expect(await ask(`select mensagem from ${table} where dead`)).toEqual([{ mensagem: 'by hand' }]);
  });

  test('an attempt fails once, however often it is told and whoever tells it', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker);
    const failure = failureOf(id, worker.id);
    expect(await database.attempts.failMany([failure, failure])).toHaveLength(1);
    expect(await database.attempts.failMany([failure])).toEqual([]);
    expect(await access.attempts(id)).toHaveLength(2);
  });

  test('texts are stored as they are, cut by characters and without halves of one', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const [long, odd] = [await claimNew(database, worker), await claimNew(database, worker)];
    const error = `'";\\ \u0000 \u{1f600}\n\t ? :named @variable -- x`;
    await database.attempts.failMany([
      failureOf(long.id, worker.id, { message: '\u{1f600}'.repeat(600), error }),
      failureOf(odd.id, worker.id, { message: 'a\ud800b', error: 'a\udc00b' }),
    ]);
    const [first, second] = [await read(access, long.id), await read(access, odd.id)];
    expect(first.error).toBe(error);
    expect(Array.from(first.message ?? '')).toHaveLength(500);
    expect(first.message).toMatch(/\u{1f600} \(will be tried again\)$/u);
    expect([second.message, second.error]).toEqual(['a\ufffdb (will be tried again)', 'a\ufffdb']);
  });

  test('a next attempt is never later than the column takes, nor is it lost', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claims = [
      await claimNew(database, worker),
      await claimNew(database, worker),
      await claimNew(database, worker),
    ];
    const [far, farDue, dated] = claims.map(({ id }) => id);
    await database.attempts.failMany([
      failureOf(far ?? '', worker.id, { next: { kind: 'after-failure', delayMs: 1e17 } }),
      failureOf(farDue ?? '', worker.id, { next: { kind: 'after-due', delayMs: Number.MAX_VALUE } }),
      failureOf(dated ?? '', worker.id, { next: { kind: 'at', date: new Date(8.64e15) } }),
    ]);
    for (const { id } of claims) {
      const [, next] = await access.attempts(id);
      expect(next?.dueAt.getUTCFullYear()).toBe(9999);
    }
  });

  test('counters at their ends do not stop an attempt from failing', async () => {
    const { database, access, ask, queue } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker);
    await ask(`update ${queue.tables.queue} set tentativa = 2147483647, reserva = 2147483647 where id = ?`, [
      id,
    ]);
    const failure = failureOf(id, worker.id, { reservation: 2_147_483_647 });
    expect(await database.attempts.failMany([failure])).toHaveLength(1);
    expect((await access.attempts(id)).map(({ attempt }) => attempt)).toEqual([2_147_483_647, 2_147_483_647]);
  });

  test('failures larger than the server takes are refused as values, before they are sent', async () => {
    const { database, queue } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker);
    const failure: Failure = failureOf(id, worker.id, { error: 'x'.repeat(10_000) });
    const failing = queue.transaction((run) => failAttempts(run, queue.tables, [failure], 260_000));
    const error: unknown = await failing.catch((reason: unknown) => reason);
    expect(database.classify(error)).toBe('value');
    expect(await database.attempts.failMany([failure])).toHaveLength(1);
  });

  test('what snoozed and running handlers say is refused before it is sent, where it is larger than the server takes', async () => {
    const { database, queue } = await open();
    const worker = await register(database);
    const { id, reservation } = await claimNew(database, worker);
    const message = '\\'.repeat(500);
    const next = { kind: 'after-failure', delayMs: 0 } as const;
    const snoozed: Failure = { ...failureOf(id, worker.id, { message, next }), snoozed: true };
    const note = { id, reservation, message };
    for (const refused of [
      queue.transaction((run) => noteAttempts(run, queue.tables, worker.id, [note], 262_500)),
      queue.transaction((run) => snoozeAttempts(run, queue.tables, [snoozed], 262_500)),
    ]) {
      const error: unknown = await refused.catch((reason: unknown) => reason);
      expect(database.classify(error)).toBe('value');
    }
    await database.attempts.noteProgress(worker.id, [note]);
    expect(await database.attempts.snoozeMany([snoozed])).toHaveLength(1);
  });

  test('a key that is run in order keeps its place in its limit, another one does not', async () => {
    const { database, ask, queue } = await open();
    const worker = await register(database);
    const { queue: table } = queue.tables;
    const claims = [await claimNew(database, worker), await claimNew(database, worker)];
    for (const [index, key] of ['o:1', 'k:1'].entries()) {
      await ask(`update ${table} set chave_fila = ?, limite = 'l', lote = 7, chave_unica = ? where id = ?`, [
        key,
        `x:${index}`,
        claims[index]?.id,
      ]);
    }
    await database.attempts.failMany(claims.map(({ id }) => failureOf(id, worker.id)));
    const next = `select chave_fila, limite, lote, chave_unica from ${table} where status = 'agendada' order by id_anterior`;
    expect(await ask(next)).toEqual([
      { chave_fila: 'o:1', limite: 'l', lote: '7', chave_unica: 'x:0' },
      { chave_fila: 'k:1', limite: null, lote: '7', chave_unica: 'x:1' },
    ]);
  });

  test('a dead chain has the payload that the task had at last, and its hash', async () => {
    const { database, access, ask, queue } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker, { payload: 'text é' });
    await database.attempts.failMany([failureOf(id, worker.id)]);
    await database.attempts.promote(10);
    const [again] = await claimAll(worker);
    const outcome = await database.attempts.failMany([
      failureOf(again?.id ?? '', worker.id, { next: never }),
    ]);
    const dead = await read(access, outcome[0]?.deadId ?? '');
    expect(dead).toMatchObject({ payload: 'text é', liveId: id, dead: true });
    const hashes = await ask(`select distinct payload_hash from ${queue.tables.queue}`);
    expect(hashes).toEqual([{ payload_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  });

  test('a delivery with a URL is sealed for itself alone', async () => {
    const opened = await open();
    const { database } = opened;
    const worker = await register(database);
    const hook = { ...unset, topic: 'a', url: 'https://example.com/é?"' };
    await database.subscriptions.add({ ...hook, id: 'one é', headers: { 'x-b': '\\"é\n', 'x-a': '1' } });
    await database.subscriptions.add({ ...hook, id: 'two' });
    await database.subscriptions.add({ ...hook, id: 'code', url: null });
    await database.attempts.fanOutMany(worker.id, [await publish(opened, worker)]);
    const copies = await claimAll(worker, ['one é', 'two', 'code'].map(subscriptionRoute));
    const seal = new DeliverySeal(database.endpoints);
    const fits = async (payloadOf: string, taskOf: string): Promise<boolean> => {
      const copy = (id: string) => copies.find(({ task }) => task.subscriptionId === id);
      const task = copy(taskOf)?.task ?? { publicationId: null, subscriptionId: null };
      return seal.fits(copy(payloadOf)?.payload ?? '', task);
    };
    expect(copies).toHaveLength(3);
    expect([await fits('one é', 'one é'), await fits('two', 'two')]).toEqual([true, true]);
    expect([await fits('one é', 'two'), await fits('code', 'code')]).toEqual([false, false]);
    const payload = copies.find(({ task }) => task.subscriptionId === 'one é')?.payload ?? 'null';
    expect(JSON.parse(payload)).toMatchObject({
      publication: JSON.stringify({ text: `'";\\ \u{1f600}\n` }),
      subscription: {
        id: 'one é',
        tenant: null,
        url: 'https://example.com/é?"',
        headers: { 'x-b': '\\"é\n', 'x-a': '1' },
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    });
  });

  test('topics that these servers take for equal get no delivery', async () => {
    const opened = await open();
    const { database } = opened;
    const worker = await register(database);
    for (const topic of ['a', 'a ', 'A', 'á']) {
      await database.subscriptions.add({ ...unset, id: `of ${JSON.stringify(topic)}`, topic });
    }
    const publication = await publish(opened, worker, 'a');
    expect(await database.attempts.fanOutMany(worker.id, [publication])).toMatchObject([{ deliveries: 1 }]);
  });

  test('several publications are counted each for itself, and again when they are delivered again', async () => {
    const opened = await open();
    const { database, ask, queue } = opened;
    const worker = await register(database);
    await database.subscriptions.add({ ...unset, id: 'one', topic: 'a' });
    await database.subscriptions.add({ ...unset, id: 'two', topic: 'a' });
    await database.subscriptions.add({ ...unset, id: 'three', topic: 'b' });
    const [a, b] = [await publish(opened, worker, 'a'), await publish(opened, worker, 'b')];
    const none = await publish(opened, worker, 'c');
    const outcomes = await database.attempts.fanOutMany(worker.id, [a, b, none]);
    expect(new Map(outcomes.map(({ id, deliveries }) => [id, deliveries]))).toEqual(
      new Map([
        [a.id, 2],
        [b.id, 1],
        [none.id, 0],
      ]),
    );
    for (const id of ['one', 'two']) await database.subscriptions.remove(id);
    const again = `update ${queue.tables.queue} set status = 'processando' where id = ?`;
    await ask(again, [a.id]);
    expect(await database.attempts.fanOutMany(worker.id, [a])).toEqual([{ id: a.id, deliveries: 0 }]);
    await database.subscriptions.add({ ...unset, id: 'four', topic: 'a' });
    await ask(again, [a.id]);
    expect(await database.attempts.fanOutMany(worker.id, [a])).toEqual([{ id: a.id, deliveries: 1 }]);
  });

  test('of a dead task that is held, the key is that of the task that died', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await database.attempts.failMany([failureOf(claimed.id, worker.id, { next: never })]);
    const [dead] = await claimAll(worker);
    const [held] = await database.attempts.heldBy(worker.id, 10);
    expect(held?.route).toBe(topicRoute('a'));
    expect([dead?.task.key, held?.task.key]).toEqual([claimed.task.key, claimed.task.key]);
  });
}
