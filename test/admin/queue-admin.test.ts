import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import {
  DeadTaskHandler,
  QueueAdmin,
  TaskHandler,
  type BulkFilter,
  type TaskContext,
} from '../../lib/index.js';
import { handleOf } from '../support/database.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { rowIsWaitedFor } from '../support/locks.js';

const bench = useQueue();

let fails = true;
let hold = deferred();
let keys: string[] = [];

@Injectable()
class Handlers {
  @TaskHandler('work', { maxAttempts: 2, retryDelayMs: 0 })
  work(payload: unknown, { task }: TaskContext): string {
    keys.push(task.key);
    if (fails) throw new Error('not yet');
    return `worked on ${JSON.stringify(payload)}`;
  }
  @DeadTaskHandler('work')
  gaveUp(_: unknown, { task }: TaskContext): void {
    keys.push(task.key);
    if (fails) throw new Error('not even that');
  }
  @TaskHandler('hold')
  async hold(): Promise<object> {
    await hold.promise;
    return { held: true };
  }
}

async function start(options: QueueAppOptions = {}): Promise<QueueApp & { admin: QueueAdmin }> {
  fails = true;
  hold = deferred();
  keys = [];
  const app = await bench.start({ handlers: [Handlers], maxAttempts: 1, unknownTasks: 'fail', ...options });
  return { ...app, admin: app.app.get(QueueAdmin) };
}

test('a failed task is started again with its key, its payload and all its attempts', async () => {
  const { queue, admin, events } = await start();
  const buried = nextEvent(events, 'task.buried');
  const id = await queue.insertTask({ topic: 'work', payload: { n: 1 }, externalKey: 'k', tenant: 7 });
  await buried;
  const failed = await bench.endedChain(id, 3);
  expect(failed.map(({ status, tentativa, dead }) => [status, tentativa, dead])).toEqual([
    ['falha', 1, false],
    ['falha', 2, false],
    ['falha', 1, true],
  ]);

  const replay = await admin.retry(failed[1]?.id ?? '');
  await admin.waitFor(id);
  const again = await admin.find(id);
  expect(again.attempts.map(({ attempt, status, retried }) => [attempt, status, retried])).toEqual([
    [1, 'failed', true],
    [2, 'failed', true],
    [1, 'failed', true],
    [2, 'failed', false],
  ]);
  expect(again.attempts[2]).toMatchObject({ id: replay, firstAttemptId: id, tenant: '7', externalKey: 'k' });
  expect(again.deadIds).toHaveLength(2);

  fails = false;
  await admin.retry(id);
  const ended = await admin.waitFor(id);
  expect(ended).toMatchObject({ status: 'succeeded', message: 'worked on {"n":1}', payload: '{"n":1}' });
  const [dead = ''] = again.deadIds;
  await admin.retry(dead);
  expect(await admin.waitFor(dead)).toMatchObject({ status: 'succeeded', dead: true, liveId: id });
  // The same over attempts, replays and the dead chain.
  expect(new Set(keys).size).toBe(1);
  expect((await bench.row(replay))['rodada']).toBe(1);
});

test('of two that retry at the same time one does, and what has not failed is not retried', async () => {
  const { queue, admin } = await start();
  const id = await queue.insertTask({ topic: 'none' });
  await bench.ended(id);
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => admin.retry(id)));
  const done = results.filter(({ status }) => status === 'fulfilled');
  // More than one only when the first retry had failed again meanwhile.
  const { attempts } = await admin.find(id);
  expect(attempts).toHaveLength(1 + done.length);

  const later = await queue.insertTask({ topic: 'work', delayMs: 3_600_000 });
  await expect(admin.retry(later)).rejects.toMatchObject({
    code: 'TASK_STATE',
    message: `task ${later} cannot be retried: only failed or cancelled tasks can be (attempt ${later} is scheduled)`,
  });
  await expect(admin.retry('999999')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  await expect(admin.retry('x')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('a task that waits is cancelled: who, when and why is kept, told and shown, and there is no dead task', async () => {
  const { queue, admin, events } = await start();
  const later = await queue.insertTask({ topic: 'work', delayMs: 3_600_000 });
  const told = nextEvent(events, 'task.cancelled');
  await admin.cancel(later, { by: 'ana', reason: 'ordered by mistake' });
  expect(await told).toMatchObject({
    task: { id: later, firstAttemptId: later, topic: 'work', attempt: 1 },
    by: 'ana',
    message: 'ordered by mistake',
  });
  expect(await admin.find(later)).toMatchObject({
    current: {
      status: 'cancelled',
      cancelledBy: 'ana',
      message: 'ordered by mistake',
      finishedAt: expect.any(Date) as unknown,
      exhausted: false,
      retried: false,
    },
    deadIds: [],
  });
  expect(await bench.row(later)).toMatchObject({ status: 'falha', cancelada_por: 'ana' });
  const { rows } = await bench.pool.query('select status, message, cancelled_by from tasks_tasks');
  expect(rows).toEqual([{ status: 'cancelled', message: 'ordered by mistake', cancelled_by: 'ana' }]);
  expect(await admin.waitFor(later)).toMatchObject({ status: 'cancelled' });
});

test('who cancels without a word of why is in the message, and need not be named', async () => {
  const { queue, admin } = await start({ worker: false });
  const ids = await queue.insertTasks([{ topic: 'work' }, { topic: 'work' }]);
  const [one = '', other = ''] = ids;
  await admin.cancel(one, { by: 'ana' });
  await admin.cancel(other);
  const { tasks } = await admin.list({ status: 'cancelled' });
  expect(tasks.map(({ message, cancelledBy }) => [message, cancelledBy])).toEqual([
    ['cancelled', null],
    ['cancelled by ana', 'ana'],
  ]);
  expect(await admin.list({ status: 'failed' })).toEqual({ tasks: [], next: undefined });
  await expect(admin.cancel(one, 'a mistake' as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(admin.cancel(one, { by: 'x'.repeat(201) })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('what a producer writes into the column of who cancelled does not cancel its task', async () => {
  const { admin } = await start();
  fails = false;
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, cancelada_por) values ('work', 'nobody') returning id`,
  );
  expect(await admin.waitFor(rows[0]?.id ?? '')).toMatchObject({ status: 'succeeded' });
  expect((await bench.row(rows[0]?.id ?? ''))['cancelada_por']).toBeNull();
});

test('a cancelled task is retried by its id', async () => {
  const { queue, admin } = await start();
  fails = false;
  const id = await queue.insertTask({ topic: 'work', delayMs: 3_600_000 });
  await admin.cancel(id);
  await admin.retry(id);
  expect(await admin.waitFor(id)).toMatchObject({ status: 'succeeded', cancelledBy: null });
});

test('cancelled tasks stay so when many are retried, unless their status is named', async () => {
  const { queue, admin, events } = await start({ worker: false });
  const off = await queue.insertTasks([{ topic: 'off' }, { topic: 'off' }]);
  const told = nextEvent(events, 'tasks.cancelled');
  const run = admin.bulk('cancel', { by: 'ana', reason: 'paid' });
  for await (const done of run.run(await run.plan({ topic: 'off' }))) expect(done).toBe(2);
  expect(await told).toEqual({ count: 2, by: 'ana', message: 'paid' });
  await bench.pool.query(`insert into tasks (processo, status) values ('lost', 'falha')`);
  const retry = admin.bulk('retry');
  const planned = async (filter: BulkFilter) =>
    (await retry.plan(filter)).counts.map(({ topic, count }) => [topic, count]);
  expect(await planned({})).toEqual([['lost', 1]]);
  expect(await planned({ topic: 'off' })).toEqual([]);
  expect(await planned({ ids: off })).toEqual([]);
  expect(await planned({ status: ['failed', 'cancelled'] })).toEqual([
    ['lost', 1],
    ['off', 2],
  ]);
  for await (const done of retry.run(await retry.plan({}))) expect(done).toBe(1);
  expect((await admin.list({ status: 'cancelled' })).tasks).toHaveLength(2);
  for await (const done of retry.run(await retry.plan({ status: 'cancelled' }))) expect(done).toBe(2);
  expect((await admin.list({ status: 'cancelled', latest: true })).tasks).toEqual([]);
});

test('a task that does not run is deleted with its dead chains; what is retried meanwhile stays whole', async () => {
  const { queue, admin } = await start();
  const other = await queue.insertTask({ topic: 'none' });
  const id = await queue.insertTask({ topic: 'work' });
  await bench.endedChain(id, 3);
  await bench.ended(other);
  // A dead task that runs would be in the way of the second deletion.
  await until(async () => {
    const { rowCount } = await bench.pool.query(
      `select from tasks where dead and status in ('pendente', 'processando')`,
    );
    return rowCount === 0;
  }, 'the dead tasks have ended');
  await admin.delete(id);
  await expect(admin.find(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  const { rows } = await bench.pool.query<{ id: string }>('select id from tasks where not dead');
  expect(rows).toEqual([{ id: other }]);
  const waiting = await queue.insertTask({ topic: 'work', delayMs: 3_600_000 });
  expect(await admin.delete(waiting)).toBe(1);
  const running = await queue.insertTask({ topic: 'hold' });
  await until(async () => (await bench.statusOf(running)) === 'processando', 'it runs');
  await expect(admin.delete(running)).rejects.toMatchObject({ code: 'TASK_STATE' });
  hold.resolve();
  // Its next attempt is inserted by whoever has its lock: it must not be left without the first one's payload.
  const locker = await bench.connect();
  await locker.query(`begin; update tasks set status = 'falha', reenfileirado = true where id = ${other}`);
  const deleted = admin.delete(other).catch((error: unknown) => error);
  await rowIsWaitedFor(bench.pool);
  await locker.query(`insert into tasks (id_inicial, id_anterior, tentativa, status, data_hora)
    values (${other}, ${other}, 2, 'agendada', now() + interval '1 hour'); commit`);
  expect(await deleted).toMatchObject({ code: 'TASK_STATE' });
  expect((await admin.find(other)).attempts).toHaveLength(2);
  // With the dead task that it left before.
  expect(await admin.delete(other)).toBe(3);
});

test('a failed task is retried with another payload, which stays its own while it is tried again', async () => {
  const { queue, admin } = await start();
  const id = await queue.insertTask({ topic: 'work', payload: { order: 1 }, metadata: { trace: 'a' } });
  const died = await bench.endedChain(id, 3);
  expect(died.length).toBeGreaterThan(1);
  const edited = await admin.retryEdited(id, '{"order":2}', { by: 'ana', reason: 'wrong order' });
  await bench.endedChain(id, 6);
  const { attempts, current } = await admin.find(id);
  expect(attempts.map(({ payload }) => payload)).toEqual([
    ...attempts
      .slice(
        0,
        attempts.findIndex((one) => one.id === edited),
      )
      .map(() => '{"order":1}'),
    ...attempts.slice(attempts.findIndex((one) => one.id === edited)).map(() => '{"order":2}'),
  ]);
  expect(attempts.at(-1)?.id).not.toBe(edited);
  expect(current.metadata).toEqual({
    trace: 'a',
    'tarefa:edits': [{ at: expect.any(String), by: 'ana', reason: 'wrong order', after: expect.any(String) }],
  });
  await expect(admin.retryEdited(id, 'x'.repeat(1_048_577))).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  });
});

test('tasks are listed by what they are, page by page', async () => {
  const { queue, admin } = await start({ worker: false });
  const ids = await queue.insertTasks([
    { topic: 'a', externalKey: '100%', tenant: 5, group: 'g' },
    { topic: 'b', delayMs: 3_600_000 },
    ...Array.from({ length: 5 }, () => ({ topic: 'c' })),
  ]);
  const idsOf = async (filter: Parameters<QueueAdmin['list']>[0]) =>
    (await admin.list(filter)).tasks.map(({ id }) => id);
  expect(await idsOf({ topic: 'a' })).toEqual([ids[0]]);
  expect(await idsOf({ externalKey: '100%', tenant: '5', group: 'g', dead: false, latest: true })).toEqual([
    ids[0],
  ]);
  expect(await idsOf({ status: 'scheduled' })).toEqual([ids[1]]);
  expect(await idsOf({ status: ['scheduled', 'pending'] })).toHaveLength(7);
  expect(await idsOf({ message: '100%' })).toEqual([]);
  await admin.cancel(ids[0] ?? '', { reason: 'is 100% wrong' });
  expect(await idsOf({ message: '100% W' })).toEqual([ids[0]]);
  expect(await idsOf({ message: '_' })).toEqual([]);
  const pages: string[][] = [];
  for (let after: string | undefined; ;) {
    const page = await admin.list({ topic: 'c' }, { limit: 2, ...(after !== undefined && { after }) });
    pages.push(page.tasks.map(({ id }) => id));
    after = page.next;
    if (after === undefined) break;
  }
  expect(pages.map((page) => page.length)).toEqual([2, 2, 1]);
  expect(pages.flat()).toEqual(ids.slice(2).reverse());
  await expect(admin.list({ topik: 'a' } as never)).rejects.toThrow("tasks cannot be listed by 'topik'");
  await expect(admin.list({ status: 'done' as never })).rejects.toThrow('"done" is not a status');
  await expect(admin.list({}, { limit: 0 })).rejects.toThrow('limit must be a whole number from 1 to 1000');
  await expect(admin.waitFor('1', { timeout: 5 } as never)).rejects.toThrow(
    "unknown option 'timeout': did you mean 'timeoutMs'?",
  );
  expect(() => admin.bulk('remove' as never)).toThrow('bulk takes retry, cancel, delete, not "remove"');
});

test('counts and the oldest pending task', async () => {
  const { queue, admin } = await start({ worker: false });
  expect(await admin.oldestPending()).toBeUndefined();
  await queue.insertTasks([{ topic: 'a' }, { topic: 'a' }, { topic: 'a', delayMs: 60_000 }, {}]);
  const old = await queue.insertTask({ topic: 'b', runAt: new Date(Date.now() - 60_000) });
  await bench.pool.query(`update tasks set status = 'falha' where processo is null`);
  expect(await admin.counts()).toEqual([
    { topic: null, subscriptionId: null, status: 'failed', count: 1 },
    { topic: 'a', subscriptionId: null, status: 'pending', count: 2 },
    { topic: 'a', subscriptionId: null, status: 'scheduled', count: 1 },
    { topic: 'b', subscriptionId: null, status: 'pending', count: 1 },
  ]);
  expect(await admin.counts({ since: new Date(Date.now() + 60_000) })).toHaveLength(3);
  const oldest = await admin.oldestPending();
  expect(oldest?.task.id).toBe(old);
  expect(oldest?.waitingMs).toBeGreaterThan(59_000);
});

test('the purge runs now, in a process without a worker too', async () => {
  const { queue, admin } = await start({ worker: false, purgeMaxAgeDays: 1 });
  await queue.insertTask({ topic: 'a' });
  await bench.pool.query(`update tasks set status = 'sucesso', data_hora = now() - interval '2 days'`);
  expect(await admin.purge()).toBe(1);
});

test('what is asked of a task inside the transaction that inserts it says that it has not committed', async () => {
  const { queue, admin } = await start();
  const client = await bench.connect();
  await client.query('begin');
  const id = await queue.insertTask({ topic: 'work' }, { tx: handleOf(client) });
  const early = {
    code: 'TASK_NOT_FOUND',
    message: expect.stringContaining(
      'the transaction that inserts it has not committed yet; ask after the commit',
    ),
  };
  await expect(admin.waitFor(id)).rejects.toMatchObject(early);
  await expect(admin.find(id)).rejects.toMatchObject(early);
  await expect(admin.cancel(id)).rejects.toMatchObject(early);
  await client.query('commit');
  expect(await admin.waitFor(id)).toMatchObject({ firstAttemptId: id });
});

test('who waits in another process is woken by the end, and told when it does not come', async () => {
  const working = await start();
  const { app } = await bench.start({ worker: false });
  const admin = app.get(QueueAdmin);
  const id = await working.queue.insertTask({ topic: 'hold' });
  await expect(admin.waitFor(id, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' });
  const waits = [admin.waitFor(id), admin.waitFor(id), working.admin.waitFor(id)];
  hold.resolve();
  for (const ended of await Promise.all(waits)) expect(ended).toMatchObject({ id, status: 'succeeded' });
  // It has ended already.
  expect(await admin.waitFor(id, { timeoutMs: 0 })).toMatchObject({ id });
});
