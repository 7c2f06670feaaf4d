import { Injectable } from '@nestjs/common';
import { expect, test, vi } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler } from '../../lib/index.js';
import { coreOf, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

@Injectable()
class Handlers {
  @TaskHandler('a')
  a(): void {}
  @TaskHandler('b')
  b(): void {}
  @TaskHandler()
  others(): void {}
  @Subscriber('index')
  index(): void {}
}

async function start(options: QueueAppOptions = {}): Promise<QueueApp & { admin: QueueAdmin }> {
  const app = await bench.start({ handlers: [Handlers], pollIntervalMs: 0, ...options });
  await bench.pool.query('truncate tasks_paused');
  return { ...app, admin: app.app.get(QueueAdmin) };
}

test('a paused topic waits while others run, and goes on at once when it is resumed', async () => {
  const { app, queue, worker, admin, events } = await start({ autoStart: false });
  const reading = vi.spyOn(coreOf(app).database.attempts, 'pausedRoutes');
  const hasRead = (times: number): Promise<unknown> =>
    until(
      async () => reading.mock.settledResults.filter(({ type }) => type === 'fulfilled').length >= times,
      'it reads',
    );
  await worker.start();
  await hasRead(1);
  await admin.pause({ topic: 'a' });
  await admin.pause({ topic: 'a' });
  // Workers hear of it a moment later.
  await hasRead(2);
  reading.mockRestore();
  const completed = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'b');
  const [waits = '', runs = ''] = await queue.insertTasks([{ topic: 'a' }, { topic: 'b' }]);
  await completed;
  expect([await bench.statusOf(waits), await bench.statusOf(runs)]).toEqual(['pendente', 'sucesso']);
  expect(await admin.paused()).toEqual([{ topic: 'a', since: expect.any(Date) as unknown }]);
  const goesOn = nextEvent(events, 'task.completed', ({ task }) => task.id === waits);
  await admin.resume({ topic: 'a' });
  await goesOn;
  expect(await admin.paused()).toEqual([]);
});

test('a worker that starts later knows, and one that was cut off learns', async () => {
  const { admin, close } = await start({ worker: false });
  for (const topic of ['a', 'other', null]) await admin.pause({ topic });
  await admin.pause({ subscriptionId: 'index' });
  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('index', 'published')`);
  const { app, queue, events } = await bench.start({ handlers: [Handlers], pollIntervalMs: 0 });
  const ids = await queue.insertTasks([{ topic: 'a' }, { topic: 'other' }, {}, { topic: 'more' }]);
  const publication = await queue.insertTaskPubSub({ topic: 'published' });
  await bench.ended(ids[3] ?? '');
  await bench.ended(publication);
  const { rows } = await bench.pool.query<{ status: string }>(
    'select status from tasks where id = any($1) or publication_id = $2 order by id',
    [ids.slice(0, 3), publication],
  );
  expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'pendente'));

  const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'session');
  const resumed = until(async () => (await bench.row(ids[0] ?? '')).status === 'sucesso', 'it goes on');
  await bench.pool.query(`delete from tasks_paused where route = 't:a'`);
  await bench.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tarefa session'`,
  );
  await restored;
  await resumed;
  const all = app.get(QueueAdmin);
  for (const topic of ['other', null]) await all.resume({ topic });
  await all.resume({ subscriptionId: 'index' });
  for (const id of ids) await bench.ended(id);
  await close();
});

test('a worker that polls pauses as well', async () => {
  const { queue, admin, events } = await start({ wake: 'poll', pollIntervalMs: 2_000 });
  // A look that is under way may have read before the pause.
  await workersAreQuiet(bench);
  await admin.pause({ topic: 'a' });
  // Each poll that finds something reads what is paused first.
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTasks([{ topic: 'a' }, { topic: 'b' }]);
  expect((await completed).task.topic).toBe('b');
  await admin.resume({ topic: 'a' });
  expect((await nextEvent(events, 'task.completed')).task.topic).toBe('a');
});

test('what is neither a topic nor a subscription cannot be paused', async () => {
  const { admin } = await start({ worker: false });
  for (const what of [{}, { topic: 4 }, { subscriptionId: null }]) {
    await expect(admin.pause(what as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
});
