import { Inject } from '@nestjs/common';
import { beforeAll, expect, test } from 'vitest';
import { QueueClient, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { lockIsWaitedFor } from '../support/locks.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { countStatuses } from '../support/statuses.js';
import { ownSql, testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

beforeAll(() => bench.pool.query('create table effect (task bigint not null)'));

const leaveEffect = ({ db, task }: TaskContext) =>
  db.query(ownSql('insert into effect values ($1)'), [task.id]);

/** Tasks in the middle of their work, in a transaction and not, that go on until they are told to end. */
async function startWorking(options: QueueAppOptions = {}) {
  const end = deferred();
  const late: unknown[] = [];
  class Working {
    constructor(@Inject(QueueClient) private readonly queue: QueueClient) {}

    @TaskHandler('transaction', { maxAttempts: 1 })
    async transaction(payload: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
      await end.promise;
      if (payload === 'fail') throw new Error('boom');
      await leaveEffect(ctx).catch((error: unknown) => late.push(error));
    }
    @TaskHandler('batch', { maxAttempts: 1 })
    async batch(payload: unknown): Promise<void> {
      await end.promise;
      if (payload === 'fail') throw new Error('boom');
      await this.queue.insertTask({ topic: 'follow-up' });
    }
    @TaskHandler('obedient')
    async obedient(_: unknown, { signal }: TaskContext): Promise<string> {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return `stopped: ${String(signal.reason)}`;
    }
  }
  const app = await bench.start({ handlers: [Working], ...options });
  return { ...app, end, late };
}

async function runningCount(count: number): Promise<void> {
  await until(async () => (await countStatuses(bench.pool))['processando'] === count, `${count} to run`);
}

test('closing waits for what runs, writes its outcome, and starts nothing more', async () => {
  const { queue, end, close, worker } = await startWorking({ concurrency: 4 });
  const ids = await queue.insertTasks([
    { topic: 'transaction', priority: 90 },
    { topic: 'transaction', priority: 90, payload: 'fail' },
    { topic: 'batch', priority: 90 },
    { topic: 'batch', priority: 90, payload: 'fail' },
    { topic: 'batch' },
  ]);
  await runningCount(4);
  const closing = close();
  await until(
    () =>
      worker.start().then(
        () => false,
        () => true,
      ),
    'the worker to stop claiming',
  );
  await queue.insertTask({ topic: 'batch' });
  end.resolve();
  await closing;
  const rows = await Promise.all(ids.map((id) => bench.row(id)));
  expect(rows.map(({ status }) => status)).toEqual(['sucesso', 'falha', 'sucesso', 'falha', 'pendente']);
  // Two still to be done, one follow-up that a handler inserted meanwhile, two dead ones.
  expect(await countStatuses(bench.pool)).toEqual({ sucesso: 2, falha: 2, pendente: 5 });
  const { rows: workers } = await bench.pool.query('select stopped_at from tasks_worker where id = $1', [
    worker.id,
  ]);
  expect(workers).toEqual([{ stopped_at: expect.any(Date) }]);
});

testOnPostgres(
  'what a claim under way brings while the application closes is given back, and the worker signs off',
  async () => {
    const runs: string[] = [];
    class Handlers {
      @TaskHandler('late')
      late(_: unknown, { task }: TaskContext): void {
        runs.push(task.id);
      }
    }
    const { close, worker, events } = await bench.start({ handlers: [Handlers], recovery: false });
    const released: unknown[] = [];
    events.on('task.released', ({ task }) => released.push(task.id));
    await workersAreQuiet(bench.database);
    const locker = await bench.connect();
    await locker.query('begin');
    await locker.query('lock table tasks in access exclusive mode');
    const { rows } = await locker.query<{ id: string }>(
      `insert into tasks (processo) values ('late') returning id`,
    );
    const id = rows[0]?.id ?? '';
    await bench.pool.query('notify tasks');
    await lockIsWaitedFor(bench.pool, 'tasks');
    const closing = close();
    await until(async () => worker.state === 'stopping', 'the worker to stop claiming');
    // The claim gets the table, and finds the task.
    await locker.query('commit');
    await closing;
    expect(await bench.row(id)).toMatchObject({
      status: 'pendente',
      tentativa: 1,
      reserva: 1,
      executor: null,
      iniciada_em: null,
    });
    expect({ runs, released }).toEqual({ runs: [], released: [id] });
    const { rows: workers } = await bench.pool.query('select stopped_at from tasks_worker where id = $1', [
      worker.id,
    ]);
    expect(workers).toEqual([{ stopped_at: expect.any(Date) }]);
  },
);

test('a handler that obeys its signal is settled', async () => {
  const { queue, close } = await startWorking({ shutdownTimeoutMs: 100 });
  const id = await queue.insertTask({ topic: 'obedient' });
  await runningCount(1);
  await close();
  expect(await bench.row(id)).toMatchObject({
    status: 'sucesso',
    mensagem: 'stopped: TarefaError: the worker is shutting down',
  });
});

test('a handler that ignores the shutdown is left to other workers, and cannot commit any more', async () => {
  const { queue, end, late, close, events } = await startWorking({ shutdownTimeoutMs: 100 });
  const stopped = nextEvent(events, 'worker.stopped');
  const id = await queue.insertTask({ topic: 'transaction' });
  await runningCount(1);
  await close();
  expect((await stopped).unfinished).toBe(1);
  expect(await bench.row(id)).toMatchObject({ status: 'processando', tentativa: 1 });

  const recovery = { intervalMs: 20, confirmMs: 20, graceMs: 0 };
  class Other {
    @TaskHandler('transaction')
    async transaction(_: unknown, ctx: TaskContext): Promise<void> {
      await leaveEffect(ctx);
    }
  }
  await bench.start({ handlers: [Other], recovery });
  const [first, second] = await bench.endedChain(id, 2);
  expect(first).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('was lost') });
  expect(second).toMatchObject({ status: 'sucesso', tentativa: 2 });
  end.resolve();
  await until(async () => late.length > 0, 'the first handler to go on');
  expect(late).toMatchObject([{ code: 'TASK_ENDED' }]);
  const { rows } = await bench.pool.query('select task from effect where task = any($1::bigint[])', [
    [id, second?.id],
  ]);
  expect(rows).toEqual([{ task: second?.id }]);
});

testOnPostgres(
  'a handler that waits for the database does not keep the application from closing',
  async () => {
    const locker = await bench.connect();
    await locker.query('begin; lock table effect in access exclusive mode');
    const { queue, close } = await startWorking({ shutdownTimeoutMs: 100 });
    const id = await queue.insertTask({ topic: 'transaction' });
    await runningCount(1);
    await close();
    expect(await bench.row(id)).toMatchObject({ status: 'processando' });
    // Its session is gone too, so that it cannot get the lock after all.
    await until(async () => {
      const { rows } = await bench.pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name like 'tarefa%'`,
      );
      return rows.length === 0;
    }, 'all connections to be gone');
  },
);
