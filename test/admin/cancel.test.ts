import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { handleOf } from '../support/database.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

class Handlers {
  @TaskHandler('remind')
  remind(): void {}
}

type Told = QueueEventMap['task.cancelled'];

async function start(
  options: QueueAppOptions = {},
): Promise<QueueApp & { admin: QueueAdmin; told: readonly Told[] }> {
  const app = await bench.start({ worker: false, handlers: [Handlers], ...options });
  const told: Told[] = [];
  app.events.on('task.cancelled', (event) => told.push(event));
  return { ...app, admin: app.app.get(QueueAdmin), told };
}

const reminder = { topic: 'remind', externalKey: 'invoice 7', delayMs: 3_600_000 };

test('a paid invoice takes its reminders with it, in one transaction', async () => {
  const { queue, admin, told } = await start();
  const ids = await queue.insertTasks([reminder, { ...reminder, payload: 'last' }]);
  const [other] = await queue.insertTasks([{ ...reminder, externalKey: 'invoice 8' }]);
  await withClient(bench, async (client) => {
    const cancel = () =>
      admin.cancel(
        { topic: 'remind', externalKey: 'invoice 7' },
        { tx: handleOf(client), by: 'till', reason: 'paid' },
      );
    await client.query('begin');
    expect(await cancel()).toEqual({ cancelled: ids, stopping: [] });
    // Nobody else sees it yet.
    expect((await admin.list({ status: 'cancelled' })).tasks).toEqual([]);
    await client.query('rollback');
    expect((await admin.list({ status: 'scheduled' })).tasks).toHaveLength(3);
    await client.query('begin');
    await cancel();
    await client.query('commit');
  });
  const { tasks } = await admin.list({ status: 'cancelled' });
  expect(tasks.map(({ id, cancelledBy, message }) => [id, cancelledBy, message])).toEqual(
    ids.map((id) => [id, 'till', 'paid']).toReversed(),
  );
  expect(await admin.find(other ?? '')).toMatchObject({ current: { status: 'scheduled' } });
  // Whether it commits is not known here.
  expect(told).toEqual([]);
});

test('of several tasks those that wait are cancelled and told, the others are left out', async () => {
  const { queue, admin, told } = await start();
  const [one = '', other = ''] = await queue.insertTasks([reminder, reminder]);
  await admin.cancel(other);
  expect(await admin.cancel([one, other, '999999'], { by: 'ana' })).toEqual({
    cancelled: [one],
    stopping: [],
  });
  expect(await admin.cancel([])).toEqual({ cancelled: [], stopping: [] });
  expect(told.map(({ task, by, message }) => [task.id, by, message])).toEqual([
    [other, null, 'cancelled'],
    [one, 'ana', 'cancelled by ana'],
  ]);
  await expect(admin.cancel(one)).rejects.toThrow(/cannot be cancelled: .* is cancelled/);
  await expect(admin.cancel('999999')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
});

test('a task inserted in a transaction is cancelled in it', async () => {
  const { queue, admin } = await start();
  await withClient(bench, async (client) => {
    await client.query('begin');
    const id = await queue.insertTask(reminder, { tx: handleOf(client) });
    expect(await admin.cancel(id, { tx: handleOf(client) })).toEqual({ cancelled: [id], stopping: [] });
    await client.query('commit');
    expect(await admin.find(id)).toMatchObject({ current: { status: 'cancelled' } });
  });
});

test.each<[string, unknown, RegExp]>([
  ['a topic alone', { topic: 'remind' }, /externalKey must be text: without it every task of the topic/],
  ['a key alone', { externalKey: 'invoice 7' }, /topic must be given with externalKey/],
  ['another filter', { topic: 'remind', externalKey: 'k', tenant: 7 }, /not by 'tenant'/],
  ['ids that are none', ['1', 'x'], /"x" is not an attempt id/],
  [
    'too many ids',
    Array.from({ length: 1_001 }, (_, n) => String(n + 1)),
    /at most 1000 ids can be given, not 1001/,
  ],
])('%s is refused, and nothing is cancelled', async (_, what, problem) => {
  const { queue, admin } = await start();
  await queue.insertTasks([reminder, reminder]);
  await expect(admin.cancel(what as never)).rejects.toThrow(problem);
  expect((await admin.list({ status: 'cancelled' })).tasks).toEqual([]);
});

test('a pool is no transaction: nothing is cancelled', async () => {
  const { queue, admin } = await start();
  const id = await queue.insertTask(reminder);
  await expect(admin.cancel(id, { tx: new Pool() })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
  expect(await admin.find(id)).toMatchObject({ current: { status: 'scheduled' } });
});
