import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import {
  DeadSubscriber,
  DeadTaskHandler,
  QueueAdmin,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { unlessTold } from '../support/run-database.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { subscribe } from '../support/subscriptions.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

let hold = deferred();
let keys: string[] = [];

@Injectable()
class Handlers {
  @TaskHandler('work', { maxAttempts: 2, retryDelayMs: 3_600_000 })
  work(_: unknown, { task }: TaskContext): void {
    keys.push(task.key);
    throw new Error('not yet');
  }
  @DeadTaskHandler('work')
  gaveUp(payload: unknown, { task }: TaskContext): string {
    keys.push(task.key);
    return `gave up on ${JSON.stringify(payload)} of ${task.tenant}`;
  }
  @TaskHandler('hold')
  async hold(): Promise<void> {
    await hold.promise;
  }
  @Subscriber('index')
  index(): void {}
  @DeadSubscriber('index')
  indexGaveUp(payload: unknown): string {
    return `not indexed: ${JSON.stringify(payload)}`;
  }
}

async function start(options: QueueAppOptions = {}): Promise<QueueApp & { admin: QueueAdmin }> {
  hold = deferred();
  keys = [];
  // It never looks by itself: what starts was rung for.
  const app = await bench.start({
    handlers: [Handlers],
    pollIntervalMs: unlessTold,
    recovery: false,
    ...options,
  });
  return { ...app, admin: app.app.get(QueueAdmin) };
}

test('a task that waits is ended, and its dead task starts at once, with payload and key', async () => {
  const { queue, admin } = await start();
  const id = await queue.insertTask({
    topic: 'work',
    payload: { n: 1 },
    tenant: 7,
    externalKey: 'k',
    priority: 80,
    metadata: { trace: 'x' },
    delayMs: 3_600_000,
  });
  const deadId = await admin.bury(id, 'the customer is gone');
  expect(await admin.waitFor(deadId)).toMatchObject({
    status: 'succeeded',
    message: 'gave up on {"n":1} of 7',
    dead: true,
    liveId: id,
    externalKey: 'k',
    priority: 80,
    metadata: { trace: 'x' },
    payload: '{"n":1}',
  });
  const history = await admin.find(id);
  expect(history).toMatchObject({
    current: {
      status: 'failed',
      message: 'the customer is gone',
      exhausted: true,
      retried: false,
      nextAttemptAt: null,
    },
    deadIds: [deadId],
  });
  expect(history.attempts).toHaveLength(1);
  expect((await bench.row(deadId))['payload_hash']).toEqual((await bench.row(id))['payload_hash']);
  // The task that was buried can be retried, and buried again: a second dead chain of the next round.
  await admin.retry(id);
  await bench.endedChain(id, 3);
  const again = await admin.bury(id);
  await admin.waitFor(again);
  expect((await admin.find(id)).deadIds).toEqual([deadId, again]);
  expect(new Set(keys).size).toBe(1);
});

test('one that waits for its next attempt is buried by the id of any attempt, with the payload of the first', async () => {
  const { queue, admin } = await start();
  const id = await queue.insertTask({ topic: 'work', payload: 'text', tenant: 1 });
  await bench.ended(id);
  const deadId = await admin.bury(id);
  expect(await admin.waitFor(deadId)).toMatchObject({ message: 'gave up on "text" of 1', liveId: id });
  expect((await admin.find(deadId)).current.payload).toBe((await admin.find(id)).current.payload);
  expect((await admin.find(id)).current).toMatchObject({ attempt: 2, message: 'buried', exhausted: true });
});

test('a delivery is buried for its subscription', async () => {
  const { queue, admin } = await start({ worker: false });
  await subscribe(bench.database, [{ id: 'index', processo: 'placed' }]);
  // Before the worker starts, which would hear of it a moment later.
  await admin.pause({ subscriptionId: 'index' });
  const worker = await bench.start({ handlers: [Handlers], pollIntervalMs: unlessTold });
  const publication = await queue.insertTaskPubSub({ topic: 'placed', payload: { n: 2 } });
  const [delivery] = await until(async () => {
    const { tasks } = await admin.list({ publicationId: publication });
    return tasks.length > 0 && tasks;
  }, 'the delivery is made');
  const deadId = await admin.bury(delivery?.id ?? '');
  await admin.resume({ subscriptionId: 'index' });
  expect(await admin.waitFor(deadId)).toMatchObject({
    subscriptionId: 'index',
    publicationId: publication,
    status: 'succeeded',
  });
  expect((await admin.find(deadId)).current.message).toMatch(/^not indexed/);
  await worker.close();
});

test('what runs, has ended, is dead or is not there is refused with where it stands', async () => {
  const { queue, admin } = await start();
  const running = await queue.insertTask({ topic: 'hold' });
  await until(async () => (await bench.statusOf(running)) === 'processando', 'it runs');
  await expect(admin.bury(running)).rejects.toMatchObject({
    code: 'TASK_STATE',
    message: `task ${running} cannot be buried: only live tasks that are waiting can be (attempt ${running} is processing)`,
  });
  hold.resolve();
  await admin.waitFor(running);
  await expect(admin.bury(running)).rejects.toThrow(/is succeeded/);
  await expect(admin.bury('999999')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  await expect(admin.bury('one')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('a dead task is refused: it has no dead task of its own', async () => {
  const { queue, admin } = await start({ worker: false });
  const deadId = await admin.bury(await queue.insertTask({ topic: 'work' }));
  await expect(admin.bury(deadId)).rejects.toMatchObject({
    code: 'TASK_STATE',
    message: `task ${deadId} cannot be buried: only live tasks that are waiting can be (attempt ${deadId} is dead and pending)`,
  });
  await admin.cancel(deadId);
});

test('of many that bury a task at the same time one does', async () => {
  const { queue, admin } = await start({ worker: false });
  const id = await queue.insertTask({ topic: 'work', payload: 1 });
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => admin.bury(id)));
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = results.filter((result) => result.status === 'rejected');
  expect(refused.every(({ reason }) => (reason as { code?: string }).code === 'TASK_STATE')).toBe(true);
  expect((await admin.find(id)).deadIds).toHaveLength(1);
});
