import { Injectable } from '@nestjs/common';
import { beforeEach, expect, test } from 'vitest';
import {
  DeadTaskHandler,
  QueueAdmin,
  TaskHandler,
  UnrecoverableError,
  type TaskContext,
} from '../../lib/index.js';
import { handleOf } from '../support/database.js';
import { rowIsWaitedFor } from '../support/locks.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { withClient } from '../support/with-client.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

let begun = deferred();
let goOn = deferred();
let attempts = 0;

beforeEach(() => {
  begun = deferred();
  goOn = deferred();
  attempts = 0;
});

@Injectable()
class Handlers {
  /** Obeys. */
  @TaskHandler('export', { maxAttempts: 5, retryDelayMs: 0 })
  async export(_: unknown, { signal }: TaskContext): Promise<void> {
    attempts += 1;
    begun.resolve();
    await new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error)),
    );
  }

  /** Obeys in words of its own. */
  @TaskHandler('import', { maxAttempts: 1 })
  async import(_: unknown, { signal }: TaskContext): Promise<void> {
    begun.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new UnrecoverableError('the file is half read');
  }

  @DeadTaskHandler('import')
  gaveUp(): void {
    attempts += 100;
  }

  @TaskHandler('note', { grouped: true })
  async note(payload: string): Promise<void> {
    if (payload !== 'slow') return;
    begun.resolve();
    await goOn.promise;
  }

  /** Does not look. */
  @TaskHandler('charge')
  async charge(): Promise<string> {
    begun.resolve();
    await goOn.promise;
    return 'charged';
  }
}

/** A worker, and another process that administers. */
async function start(options: Parameters<typeof bench.start>[0] = {}) {
  const worker = await bench.start({ handlers: [Handlers], ...options });
  const other = await bench.start({ worker: false, ...options });
  const waits = async (id: string) => other.app.get(QueueAdmin).waitFor(id);
  return { ...worker, admin: other.app.get(QueueAdmin), waits };
}

test('a running task is cancelled from another process: its signal aborts, and it ends cancelled', async () => {
  const { queue, admin, events, waits } = await start();
  const told = nextEvent(events, 'task.cancelled');
  const failed: unknown[] = [];
  events.on('task.failed', (event) => failed.push(event));
  const id = await queue.insertTask({ topic: 'export' });
  await begun.promise;
  const answer = await admin.cancel(id, { by: 'ana', reason: 'no longer needed' });
  expect(answer).toEqual({ cancelled: [], stopping: [id] });
  expect(await told).toMatchObject({ task: { id, attempt: 1 }, by: 'ana', message: 'no longer needed' });
  expect(await waits(id)).toMatchObject({
    id,
    status: 'cancelled',
    cancelledBy: 'ana',
    message: 'no longer needed',
    error: expect.stringContaining(`task ${id} was cancelled`) as unknown,
    exhausted: false,
    retried: false,
  });
  expect(attempts).toBe(1);
  expect(failed).toEqual([]);
  await expect(admin.cancel(id)).rejects.toMatchObject({ code: 'TASK_STATE' });
});

test('a running task that is cancelled has no dead task, whatever its handler throws', async () => {
  const { queue, admin, waits } = await start();
  const id = await queue.insertTask({ topic: 'import' });
  await begun.promise;
  await admin.cancel({ topic: 'import', externalKey: 'none' });
  await admin.cancel([id]);
  expect(await waits(id)).toMatchObject({ status: 'cancelled', message: 'cancelled' });
  expect((await admin.find(id)).deadIds).toEqual([]);
  expect(attempts).toBe(0);
});

test('a task that waits for its turn in a group ends cancelled before that', async () => {
  const { queue, admin, events, waits } = await start({ pollIntervalMs: 100 });
  const slow = await queue.insertTask({ topic: 'note', payload: 'slow' });
  await begun.promise;
  const told = nextEvent(events, 'task.cancelled');
  const ids = await queue.insertTasks([{ topic: 'note' }, { topic: 'note' }]);
  await until(async () => (await admin.list({ ids, status: 'processing' })).tasks.length === 2, 'both wait');
  const [one = '', other = ''] = ids;
  expect(await admin.cancel(one)).toEqual({ cancelled: [], stopping: [one] });
  expect(await told).toMatchObject({ task: { id: one } });
  expect(await waits(one)).toMatchObject({ status: 'cancelled' });
  goOn.resolve();
  expect(await waits(other)).toMatchObject({ status: 'succeeded' });
  expect(await waits(slow)).toMatchObject({ status: 'succeeded' });
});

test('a running task that succeeds anyway has succeeded', async () => {
  const { queue, admin, waits } = await start();
  const id = await queue.insertTask({ topic: 'charge', externalKey: 'order 7' });
  await begun.promise;
  const answer = await admin.cancel({ topic: 'charge', externalKey: 'order 7' });
  expect(answer).toEqual({ cancelled: [], stopping: [id] });
  goOn.resolve();
  expect(await waits(id)).toMatchObject({ status: 'succeeded', message: 'charged', cancelledBy: null });
});

test('a worker that does not listen finds out by its poll', async () => {
  const { queue, admin, waits } = await start({ wake: 'poll', pollIntervalMs: 100 });
  const id = await queue.insertTask({ topic: 'export' });
  await begun.promise;
  await admin.cancel(id);
  expect(await waits(id)).toMatchObject({ status: 'cancelled' });
});

test('in a transaction of the caller it is asked to stop when that commits', async () => {
  const { queue, admin, waits } = await start({ pollIntervalMs: 500 });
  const id = await queue.insertTask({ topic: 'export' });
  await begun.promise;
  await withClient(bench, async (client) => {
    await client.query('begin');
    expect(await admin.cancel(id, { tx: handleOf(client) })).toMatchObject({ stopping: [id] });
    await client.query('rollback');
    expect((await bench.row(id))['cancelada_por']).toBeNull();
    await client.query('begin');
    await admin.cancel(id, { tx: handleOf(client) });
    await client.query('commit');
  });
  expect(await waits(id)).toMatchObject({ status: 'cancelled' });
});

test('a task that fails while it is cancelled is cancelled in its next attempt', async () => {
  const { admin } = await start({ worker: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status, executor) values ('export', 'processando', 1) returning id`,
  );
  const id = String(rows[0]?.id);
  const other = await bench.connect();
  await other.query('begin');
  await other.query(`update tasks set status = 'falha', reenfileirado = true where id = $1`, [id]);
  await other.query(
    `insert into tasks (processo, status, id_inicial, id_anterior, tentativa, data_hora)
     values ('export', 'agendada', $1, $1, 2, now() + interval '1 hour')`,
    [id],
  );
  const cancelling = admin.cancel(id);
  await rowIsWaitedFor(bench.pool);
  await other.query('commit');
  expect(await cancelling).toEqual({ cancelled: [id], stopping: [] });
  const { attempts: all } = await admin.find(id);
  expect(all.map(({ status }) => status)).toEqual(['failed', 'cancelled']);
});

test('what another program runs is not asked to stop', async () => {
  const { admin } = await start({ worker: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status) values ('export', 'processando') returning id`,
  );
  const id = String(rows[0]?.id);
  await expect(admin.cancel(id)).rejects.toThrow(/is processing/);
  expect(await admin.cancel([id])).toEqual({ cancelled: [], stopping: [] });
  expect((await bench.row(id))['cancelada_por']).toBeNull();
});
