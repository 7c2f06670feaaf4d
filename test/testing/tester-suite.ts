import { AssertionError } from 'node:assert';
import { beforeEach, expect, test } from 'vitest';
import { Snooze, UnrecoverableError, type QueueClient } from '../../lib/index.js';
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
    await expect(wrong).rejects.toThrow(/no task was inserted that matches .*"id":3.* there are 2: .*"id":1/);
    await expect(tester.expectInserted({ topic: 'send-receipt' })).rejects.toThrow(/more than one/);
    // @ts-expect-error there is no such condition
    await expect(tester.inserted({ topik: 'send-receipt' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  test('payloads are compared as handlers get them', async () => {
    const at = new Date(0);
    await queue.insertTask({ topic: 'send-receipt', payload: { at, nested: { b: 1, a: [2] } } });
    await tester.expectInserted({ payload: { nested: { a: [2], b: 1 }, at } });
    await expect(tester.expectInserted({ payload: { at } })).rejects.toThrow(/no task/);
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

  test('a drain runs what is due in order, with what that inserts and publishes', async () => {
    await tester.subscribe('order-placed', 'search-index');
    await tester.subscribe('order-placed', 'search-index');
    await queue.insertTask({ topic: 'place-order', payload: { id: 4 } });
    await queue.insertTask({ topic: 'send-receipt', payload: { id: 5 }, delayMs: 3_600_000 });
    const runs = await tester.drain();
    expect(runs.map(({ task }) => [task.topic, task.message])).toEqual([
      ['place-order', 'placed'],
      ['send-receipt', 'completed'],
      ['order-placed', 'delivered to 1 subscription'],
      ['order-placed', 'completed'],
    ]);
    expect(shop.seen).toEqual(['receipt 4, attempt 1', 'index 4 for search-index of order-placed']);
    await tester.travel({ minutes: 59 });
    expect(await tester.drain()).toEqual([]);
    await tester.travel({ minutes: 1 });
    expect(await tester.drain()).toMatchObject([{ task: { topic: 'send-receipt', status: 'succeeded' } }]);
    // A dead letter and a delivery were made by the queue.
    expect((await tester.inserted()).map(({ topic }) => topic)).toEqual([
      'place-order',
      'send-receipt',
      'send-receipt',
      'order-placed',
    ]);
  });

  test('with time moved forward a task has all its attempts and its dead handler', async () => {
    const id = await queue.insertTask({ topic: 'busy' });
    const runs = await tester.drain({ travel: true });
    expect(runs.map(({ task }) => [task.attempt, task.dead, task.status])).toEqual([
      [1, false, 'failed'],
      [2, false, 'failed'],
      [3, false, 'failed'],
      [1, true, 'succeeded'],
    ]);
    expect(shop.seen).toEqual(['busy 1', 'busy 2', 'busy 3', 'dead of busy, key 32']);
    expect(runs.at(-1)?.task.liveId).toBe(id);
  });

  test('a time of the handler is travelled to', async () => {
    const date = new Date(Date.now() + 86_400_000).toISOString();
    await queue.insertTask({ topic: 'tomorrow', payload: date });
    expect(await tester.drain()).toMatchObject([
      { task: { status: 'failed', nextAttemptAt: new Date(date) } },
    ]);
    await tester.travel({ hours: 23 });
    expect(await tester.drain()).toEqual([]);
    await tester.travel({ hours: 1, seconds: 1 });
    await tester.drain();
    expect(shop.seen).toEqual(['tomorrow 2']);
  });

  test('a drain stops where it is told to, and says where it cannot get', async () => {
    const id = await queue.insertTask({ topic: 'busy' });
    await tester.drain({ until: { id, status: 'scheduled' } });
    expect(shop.seen).toEqual(['busy 1']);
    await expect(tester.drain({ until: { id, status: 'failed' } })).rejects.toThrow(
      new RegExp(`task ${id} is scheduled, not failed: it is for later, so travel: true is needed`),
    );
    await tester.drain({ until: { id, status: 'failed' }, travel: true });
    expect(shop.seen).toEqual(['busy 1', 'busy 2', 'busy 3']);
    await expect(tester.drain({ until: { id: '9999', status: 'failed' } })).rejects.toThrow(/no task 9999/);
  });

  test('tasks that insert themselves are found out', async () => {
    await queue.insertTask({ topic: 'endless' });
    await expect(tester.drain({ most: 20 })).rejects.toThrow(/20 attempts ran and there are more/);
  });

  test('durations are checked', async () => {
    await expect(tester.travel(-1)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    // @ts-expect-error no unit of time
    await expect(tester.travel({ fortnights: 1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  test('grouped, scheduled, equivalent: what clients ask works', async () => {
    const task = { topic: 'send-receipt', payload: { id: 6 }, externalKey: 'order-6' };
    const id = await queue.insertTask(task);
    expect(await queue.listEquivalentTask(task)).toMatchObject([{ id }]);
    expect(await queue.listEquivalentTask({ ...task, externalKey: 'order-7' })).toEqual([]);
    expect(await queue.listEquivalentTask({ ...task, payload: { id: 7 } })).toEqual([]);
    await tester.drain();
    expect(await queue.listEquivalentTask(task)).toMatchObject([{ id, status: 'succeeded' }]);
  });
}
