import { expect } from 'vitest';
import { encodeTask, type TaskInput } from '../../../lib/client/task-input.js';
import type { NewTask } from '../../../lib/storage/inserts.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract, contractOfEach } from './contract-test.js';
import { claimAll, claimNew, idsOf, insert, read, register, type OpenDatabase } from './opened.js';

function encode(input: TaskInput): NewTask {
  return encodeTask({ topic: 'a', ...input }, false, 1_000_000);
}

/** Each differs from a task by one value. */
const others: readonly TaskInput[] = [
  { payload: { id: 2 } },
  { externalKey: 'two' },
  { origin: null },
  { destination: 'elsewhere' },
  { topic: 'b' },
  { tenant: null },
  { group: 'h' },
];

/** What every database promises of `TaskInserts`. */
export function exerciseInserts(open: OpenDatabase): void {
  contract('a task is stored as it was given, and is due now', async () => {
    const { database, access } = await open();
    const id = await insert(database, {
      payload: { id: 1 },
      externalKey: 'one',
      origin: 'here',
      destination: 'there',
      tenant: '9007199254740993',
      group: 'g',
      priority: 7,
      metadata: { by: 'Zoë' },
    });
    expect(await read(access, id)).toMatchObject({
      status: 'pending',
      attempt: 1,
      firstAttemptId: id,
      topic: 'a',
      payload: '{"id":1}',
      externalKey: 'one',
      origin: 'here',
      destination: 'there',
      tenant: '9007199254740993',
      group: 'g',
      priority: 7,
      metadata: { by: 'Zoë' },
      publication: false,
      dead: false,
      retried: false,
      message: null,
    });
  });

  contract('a task without a priority has 50, and one for later is scheduled', async () => {
    const { database, access } = await open();
    const runAt = new Date(Date.now() + 3_600_000);
    const [delayed, dated] = [await insert(database, { delayMs: 60_000 }), await insert(database, { runAt })];
    expect(await read(access, delayed)).toMatchObject({ status: 'scheduled', priority: 50 });
    expect(await read(access, dated)).toMatchObject({ status: 'scheduled', dueAt: runAt, firstDueAt: runAt });
  });

  contract('many tasks get their ids in the order they were given, and rise', async () => {
    const { database, access } = await open();
    const tasks = Array.from({ length: 20 }, (_, n) => encode({ payload: { n } }));
    const ids = await database.inserts.insertMany(tasks);
    expect(ids).toEqual(ids.toSorted((one, other) => Number(one) - Number(other)));
    const records = await Promise.all(ids.map((id) => read(access, id)));
    expect(records.map(({ payload }) => payload)).toEqual(tasks.map(({ payload }) => payload));
    expect(idsOf(await access.inserted(undefined))).toEqual(ids);
  });

  contract('an insert in a transaction of the application exists when that commits', async () => {
    const { database, access, inTransaction } = await open();
    const id = await inTransaction((tx) => database.inserts.insert(encode({}), tx));
    expect((await read(access, id)).status).toBe('pending');
    const rolledBack = inTransaction(async (tx) => {
      await database.inserts.insertMany([encode({})], tx);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(idsOf(await access.inserted(undefined))).toEqual([id]);
  });

  const same = {
    payload: { id: 1 },
    externalKey: 'one',
    origin: 'here',
    destination: 'there',
    tenant: 7,
    group: 'g',
  };

  contract(
    'equivalent are tasks in the given statuses that have every value in common, oldest first',
    async () => {
      const { database } = await open();
      const ids = [await insert(database, same), await insert(database, { ...same, priority: 3 })];
      const scheduled = await insert(database, { ...same, delayMs: 60_000 });
      const list = database.inserts.listEquivalent.bind(database.inserts);
      expect(idsOf(await list(encode(same), ['pending']))).toEqual(ids);
      expect(idsOf(await list(encode(same), ['pending', 'scheduled']))).toEqual([...ids, scheduled]);
      expect(await list(encode(same), ['failed'])).toEqual([]);
    },
  );

  contractOfEach(others, (other) => JSON.stringify(other))(
    'a task with another value is not equivalent: %s',
    async (other) => {
      const { database } = await open();
      await insert(database, same);
      expect(await database.inserts.listEquivalent(encode({ ...same, ...other }), ['pending'])).toEqual([]);
      await insert(database, { ...same, ...other });
      expect(await database.inserts.listEquivalent(encode(same), ['pending'])).toHaveLength(1);
    },
  );

  contract('a later attempt is equivalent by the payload of the first', async () => {
    const { database } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker, same);
    await database.attempts.failMany([failureOf(id, worker.id)]);
    const [found] = await database.inserts.listEquivalent(encode(same), ['scheduled']);
    expect(found).toMatchObject({ firstAttemptId: id, attempt: 2, payload: '{"id":1}' });
    await database.attempts.promote(10);
    expect(await claimAll(worker)).toHaveLength(1);
  });
}
