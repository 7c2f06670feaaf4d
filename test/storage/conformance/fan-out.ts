import { expect } from 'vitest';
import type { ClaimedTask } from '../../../lib/storage/attempt.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import { publicationRoute, subscriptionRoute } from '../../../lib/storage/route.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  byText,
  claimAll,
  idsOf,
  insert,
  read,
  register,
  wrongClaims,
  type OpenDatabase,
  type TestWorker,
} from './opened.js';
import type { TaskInput } from '../../../lib/client/task-input.js';

const unset = { tenant: null, group: null, url: null, httpMethod: null, headers: null, active: true };

/** What every database promises of `AttemptStore.fanOutMany`. */
export function exerciseFanOut(open: OpenDatabase): void {
  async function publish(
    database: QueueDatabase,
    worker: TestWorker,
    input: TaskInput = {},
  ): Promise<ClaimedTask> {
    const id = await insert(database, input, true);
    const found = (await claimAll(worker, [publicationRoute])).find((one) => one.id === id);
    if (!found) throw new Error(`publication ${id} was not claimed`);
    return found;
  }

  contract('a publication is delivered once to every subscription of its topic', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    await database.subscriptions.add({ ...unset, id: 'one', topic: 'a', headers: { 'x-one': '1' } });
    await database.subscriptions.add({ ...unset, id: 'two', topic: 'a' });
    await database.subscriptions.add({ ...unset, id: 'other', topic: 'b' });
    const publication = await publish(database, worker, {
      payload: { id: 1 },
      externalKey: 'key',
      priority: 7,
    });
    expect(publication).toMatchObject({ publication: true, route: publicationRoute });
    const outcomes = await database.attempts.fanOutMany(worker.id, [publication]);
    expect(outcomes).toEqual([{ id: publication.id, deliveries: 2 }]);
    expect(await database.attempts.fanOutMany(worker.id, [publication])).toEqual([]);
    expect(await read(access, publication.id)).toMatchObject({
      status: 'succeeded',
      message: 'delivered to 2 subscriptions',
    });
    const copies = await claimAll(worker, ['one', 'two', 'other'].map(subscriptionRoute));
    expect(
      copies.map(({ task, publication: isOne }) => [task.subscriptionId, isOne]).toSorted(byText),
    ).toEqual([
      ['one', false],
      ['two', false],
    ]);
    const one = copies.find(({ task }) => task.subscriptionId === 'one');
    expect(one?.task).toMatchObject({
      publicationId: publication.id,
      topic: 'a',
      externalKey: 'key',
      priority: 7,
    });
    expect(JSON.parse(one?.payload ?? 'null')).toMatchObject({
      publication: '{"id":1}',
      subscription: { id: 'one', processo: 'a', headers: { 'x-one': '1' }, ativo: true, url: null },
    });
  });

  contract('inactive subscriptions, and those of another tenant or group, get no delivery', async () => {
    const { database } = await open();
    const worker = await register(database);
    const subscriptions = [
      { ...unset, id: 'all' },
      { ...unset, id: 'same', tenant: '7', group: 'g' },
      { ...unset, id: 'inactive', active: false },
      { ...unset, id: 'tenant', tenant: '8' },
      { ...unset, id: 'group', group: 'h' },
    ];
    for (const one of subscriptions) await database.subscriptions.add({ ...one, topic: 'a' });
    const publication = await publish(database, worker, { tenant: 7, group: 'g' });
    await database.attempts.fanOutMany(worker.id, [publication]);
    const copies = await claimAll(
      worker,
      subscriptions.map(({ id }) => subscriptionRoute(id)),
    );
    expect(copies.map(({ task }) => task.subscriptionId).toSorted(byText)).toEqual(['all', 'same']);
  });

  contract('a publication without tenant and group goes to subscriptions of none', async () => {
    const { database } = await open();
    const worker = await register(database);
    await database.subscriptions.add({ ...unset, id: 'tenant', topic: 'a', tenant: '7' });
    await database.subscriptions.add({ ...unset, id: 'group', topic: 'a', group: 'g' });
    const publication = await publish(database, worker);
    expect(await database.attempts.fanOutMany(worker.id, [publication])).toMatchObject([{ deliveries: 0 }]);
  });

  contract('a publication that nobody has subscribed to succeeds and says so', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const publication = await publish(database, worker);
    const outcomes = await database.attempts.fanOutMany(worker.id, [publication]);
    expect(outcomes).toEqual([{ id: publication.id, deliveries: 0 }]);
    expect(await read(access, publication.id)).toMatchObject({
      status: 'succeeded',
      message: 'discarded: no active subscription matches',
    });
  });

  contract('one that waits for a subscription stays as it is until it has one', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    await database.subscriptions.declare([{ id: 's', topic: 'b' }]);
    const [waiting, other] = [
      await publish(database, worker),
      await publish(database, worker, { topic: 'b' }),
    ];
    const claims = [waiting, other].map(({ id, reservation }) => ({ id, reservation, waits: true }));
    expect(await database.attempts.fanOutMany(worker.id, claims)).toEqual([{ id: other.id, deliveries: 1 }]);
    expect(await database.attempts.fanOutMany(worker.id, claims)).toEqual([]);
    expect(await read(access, waiting.id)).toMatchObject({ status: 'processing', message: null });
    await database.subscriptions.declare([{ id: 't', topic: 'a' }]);
    expect(await database.attempts.fanOutMany(worker.id, claims)).toEqual([
      { id: waiting.id, deliveries: 1 },
    ]);
  });

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s delivers nothing, and is absent from the answer',
    async (wrong) => {
      const { database, access } = await open();
      const [holder, other] = [await register(database), await register(database)];
      await database.subscriptions.declare([{ id: 's', topic: 'a' }]);
      const publication = await publish(database, holder);
      const { claim, workerId } = wrong.of(publication, holder.id, other.id);
      expect(await database.attempts.fanOutMany(workerId, [claim])).toEqual([]);
      expect((await read(access, publication.id)).status).toBe('processing');
      expect(await claimAll(holder, [subscriptionRoute('s')])).toEqual([]);
    },
  );

  contract(
    'a later attempt of a publication delivers the payload of the first, and names the first',
    async () => {
      const { database } = await open();
      const worker = await register(database);
      await database.subscriptions.declare([{ id: 's', topic: 'a' }]);
      const publication = await publish(database, worker, { payload: 'text' });
      await database.attempts.failMany([failureOf(publication.id, worker.id)]);
      await database.attempts.promote(10);
      const again = await claimAll(worker, [publicationRoute]);
      expect(idsOf(again)).not.toContain(publication.id);
      await database.attempts.fanOutMany(worker.id, again);
      const [copy] = await claimAll(worker, [subscriptionRoute('s')]);
      expect(copy?.task.publicationId).toBe(publication.id);
      expect(JSON.parse(copy?.payload ?? 'null')).toMatchObject({ publication: 'text' });
    },
  );

  contract('a dead publication is a task of its topic', async () => {
    const { database } = await open();
    const worker = await register(database);
    const publication = await publish(database, worker);
    const failure = failureOf(publication.id, worker.id, { next: { kind: 'never' } });
    const [outcome] = await database.attempts.failMany([failure]);
    expect(idsOf(await claimAll(worker, ['t:a']))).toEqual([outcome?.deadId]);
  });
}
