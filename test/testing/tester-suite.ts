import { AssertionError } from 'node:assert';
import { beforeEach, expect, test } from 'vitest';
import { Snooze, UnrecoverableError, type QueueClient, type TaskInput } from '../../lib/index.js';
import type { QueueTester } from '../../lib/testing/index.js';
import type { Shop } from './shop.js';

/** A queue under a tester, empty before each test. */
export interface TesterBench {
  readonly tester: QueueTester;
  readonly queue: QueueClient;
  readonly shop: Shop;
}

/** What a tester shows with a database and without one alike. `maxAttempts` of the queue is 2, its retry interval 5 minutes. */
export function describeTester(bench: () => TesterBench): void {
  let tester: QueueTester;
  let queue: QueueClient;
  let shop: Shop;

  beforeEach(() => {
    ({ tester, queue, shop } = bench());
  });

  test('nothing runs until it is told to, and what was inserted can be asserted', async () => {
    await queue.insertTask({
      topic: 'place-order',
      payload: { id: 1 },
      tenant: 7,
      metadata: { by: 'Zoë 🦄' },
    });
    const found = await tester.expectInserted({ topic: 'place-order', payload: { id: 1 }, tenant: '7' });
    expect(found).toMatchObject({ status: 'pending', data: { id: 1 }, metadata: { by: 'Zoë 🦄' } });
    expect(await tester.inserted({ topic: 'send-receipt' })).toEqual([]);
    expect(shop.seen).toEqual([]);
  });

  test('an assertion that fails shows what there is', async () => {
    await queue.insertTasks([
      { topic: 'send-receipt', payload: { id: 1 } },
      { topic: 'send-receipt', payload: { id: 2 } },
    ]);
    const wrong = tester.expectInserted({ topic: 'send-receipt', payload: { id: 3 } });
    await expect(wrong).rejects.toBeInstanceOf(AssertionError);
    await expect(wrong).rejects.toThrow(/no inserted task matches .*"id":3.* inserted are 2: .*"id":1/);
    await expect(tester.expectInserted({ topic: 'send-receipt' })).rejects.toThrow(/more than one/);
    // @ts-expect-error there is no such condition
    await expect(tester.inserted({ topik: 'send-receipt' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  test('payloads are compared as handlers get them', async () => {
    const at = new Date(0);
    await queue.insertTask({ topic: 'send-receipt', payload: { at, nested: { b: 1, a: [2] } } });
    await tester.expectInserted({ payload: { nested: { a: [2], b: 1 }, at } });
    await expect(tester.expectInserted({ payload: { at } })).rejects.toThrow(/no inserted task matches/);
    await queue.insertTask({ topic: 'text', payload: 'plain' });
    await tester.expectInserted({ payload: 'plain' });
  });

  test('one handler runs as the queue runs it, and leaves other tasks alone', async () => {
    await queue.insertTask({ topic: 'send-receipt', payload: { id: 1 } });
    const { task, thrown } = await tester.run({ topic: 'send-receipt', payload: { id: 2 } });
    expect(task).toMatchObject({ status: 'succeeded', result: '{"sent":2}', attempt: 1 });
    expect(thrown).toBeUndefined();
    expect(shop.seen).toEqual(['receipt 2, attempt 1']);
    const failed = await tester.run({ topic: 'busy' });
    expect(failed.task).toMatchObject({
      status: 'failed',
      retried: true,
      message: expect.stringMatching(/busy \(will/),
    });
    expect(failed.thrown).toEqual(new Error('the mail server is busy'));
    const hopeless = await tester.run({ topic: 'hopeless' });
    expect(hopeless.task).toMatchObject({ status: 'failed', retried: false, exhausted: true });
    expect(hopeless.thrown).toBeInstanceOf(UnrecoverableError);
    const snoozed = await tester.run({ topic: 'early' });
    expect(snoozed.task).toMatchObject({ status: 'scheduled', attempt: 1, message: 'not yet', error: null });
    expect(snoozed.thrown).toBeInstanceOf(Snooze);
    await expect(tester.run({ topic: 'nobody' })).resolves.toMatchObject({
      thrown: { code: 'HANDLER_NOT_REGISTERED' },
    });
    expect(shop.seen).toEqual(['receipt 2, attempt 1', 'busy 1']);
  });

  test('a delivery runs with its subscription', async () => {
    const { task } = await tester.deliver('search-index', { topic: 'order-placed', payload: { id: 3 } });
    expect(task).toMatchObject({
      status: 'succeeded',
      subscriptionId: 'search-index',
      topic: 'order-placed',
    });
    expect(shop.seen).toEqual(['index 3 for search-index of order-placed']);
  });

  test('a unique key is taken while its task lives, waits, or is kept', async () => {
    const insert = (unique: NonNullable<TaskInput['unique']>, id = 1): Promise<string> =>
      queue.insertTask({ topic: 'send-receipt', payload: { id }, unique });
    const live = await insert('live');
    await expect(insert('live')).rejects.toMatchObject({ code: 'TASK_DUPLICATE' });
    expect(await insert({ key: 'live', onConflict: 'return' })).toBe(live);
    const waiting = await insert({ key: 'one', while: 'pending' });
    expect(await insert({ key: 'one', while: 'pending', onConflict: 'replace' }, 2)).toBe(waiting);
    await tester.expectInserted({ payload: { id: 2 } });
    const many = { topic: 'send-receipt', unique: { key: 'live', onConflict: 'return' } } as const;
    expect(await queue.insertTasks([many])).toEqual([live]);

    for (const unique of ['ended', { key: 'started', while: 'pending' }] as const) {
      const first = await tester.run({ topic: 'send-receipt', payload: { id: 3 }, unique });
      expect(await insert(unique)).not.toBe(first.task.id);
    }
    const retried = await tester.run({ topic: 'busy', unique: 'retried' });
    expect(await insert({ key: 'retried', onConflict: 'return' })).toBe(retried.task.id);
    const kept = { key: 'kept', window: 'today', onConflict: 'return' } as const;
    const { task } = await tester.run({ topic: 'send-receipt', payload: { id: 4 }, unique: kept });
    expect(await insert(kept)).toBe(task.id);
  });

  test('durations are checked', async () => {
    await expect(tester.travel(-1)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    // @ts-expect-error no unit of time
    await expect(tester.travel({ fortnights: 1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  test('equal tasks are listed, also those that ended', async () => {
    const task = { topic: 'send-receipt', payload: { id: 6 }, externalKey: 'order-6' };
    const id = await queue.insertTask(task);
    expect(await queue.listEquivalentTask(task)).toMatchObject([{ id }]);
    expect(await queue.listEquivalentTask({ ...task, externalKey: 'order-7' })).toEqual([]);
    expect(await queue.listEquivalentTask({ ...task, payload: { id: 7 } })).toEqual([]);
    await tester.run(task);
    const all = await queue.listEquivalentTask(task);
    expect(all.map(({ status }) => status)).toEqual(['pending', 'succeeded']);
    expect(await queue.listEquivalentTask({ ...task, status: ['failed'] })).toEqual([]);
  });
}
