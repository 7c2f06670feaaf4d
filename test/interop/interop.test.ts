import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { NsjWorker } from './nsj-worker.js';

const bench = useQueue();
const interop = { interop: 'nsj', pollIntervalMs: 0, recovery: false } as const;

/** Locks of tasks that sessions of this database hold: ids, sorted. */
async function lockedIds(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `select ((classid::bigint << 32) | objid::bigint)::text as id from pg_locks
     where locktype = 'advisory' and objsubid = 1 and database = (select oid from pg_database where datname = current_database())
       and classid = 0 order by 1`,
  );
  return rows.map(({ id }) => id);
}

async function insert(...topics: readonly string[]): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ id: string }>(
    'insert into tasks (processo) select unnest($1::text[]) returning id',
    [topics],
  );
  return rows.map(({ id }) => id);
}

function holding() {
  const end = deferred();
  const started = deferred();
  class Holding {
    @TaskHandler()
    async hold(_payload: unknown, ctx: TaskContext): Promise<void> {
      await ctx.db.query('select 1');
      started.resolve();
      await end.promise;
    }
  }
  return { handlers: [Holding], end, started };
}

test('what a worker of nsj-queue-lib has locked is left to it, and others are taken meanwhile', async () => {
  const nsj = await bench.connect();
  class Quick {
    @TaskHandler()
    run(): void {}
  }
  const app = await bench.start({ handlers: [Quick], concurrency: 1, ...interop, autoStart: false });
  const [first = '', second = ''] = await insert('a', 'b');
  await nsj.query('select pg_advisory_lock($1::bigint)', [first]);
  await app.worker.start();
  expect(await bench.ended(second)).toMatchObject({ status: 'sucesso' });
  expect(await bench.row(first)).toMatchObject({ status: 'pendente', reserva: 0 });
  // Nobody rings when it lets go.
  await nsj.query('select pg_advisory_unlock($1::bigint)', [first]);
  expect(await bench.ended(first)).toMatchObject({ status: 'sucesso' });
});

test.each([1, 10])(
  'a running task is locked as nsj-queue-lib locks it until its end is written (concurrency %i)',
  async (concurrency) => {
    const { handlers, end, started } = holding();
    await bench.start({ handlers, concurrency, ...interop });
    const nsj = await NsjWorker.start(bench.database.url, () => Promise.resolve('done'));
    const [id = ''] = await insert('a');
    await started.promise;
    expect(await lockedIds()).toEqual([id]);
    expect(await nsj.retryCrashed()).toEqual([]);
    expect(await nsj.drain()).toBe(0);
    end.resolve();
    await bench.ended(id);
    await until(async () => (await lockedIds()).length === 0, 'the lock to go');
    expect(await bench.chain(id)).toHaveLength(1);
    await nsj.stop();
  },
);

test('failures give their locks back too', async () => {
  class Failing {
    @TaskHandler()
    run(): void {
      throw new Error('no');
    }
  }
  await bench.start({ handlers: [Failing], ...interop, maxAttempts: 2, retryIntervalMinutes: 0 });
  const [id = ''] = await insert('a');
  expect(await bench.endedChain(id, 3)).toHaveLength(3);
  await until(async () => (await lockedIds()).length === 0, 'the locks to go');
});

test('locks that went with a connection are taken again while their tasks run', async () => {
  const { handlers, end, started } = holding();
  const { events } = await bench.start({ handlers, ...interop });
  const nsj = await NsjWorker.start(bench.database.url, () => Promise.resolve('done'));
  const [id = ''] = await insert('a');
  await started.promise;
  const lost = nextEvent(events, 'connection.lost');
  await bench.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tarefa tasks control'`,
  );
  await lost;
  await until(async () => (await lockedIds()).join() === id, 'the lock to be taken again');
  expect(await nsj.retryCrashed()).toEqual([]);
  end.resolve();
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  await until(async () => (await lockedIds()).length === 0, 'the lock to go');
  await nsj.stop();
});

test('what the other kind takes for crashed meanwhile is not completed here', async () => {
  const { handlers, end, started } = holding();
  const { events } = await bench.start({ handlers, ...interop });
  const nsj = await NsjWorker.start(bench.database.url, () => Promise.resolve('done'));
  const [id = ''] = await insert('a');
  await started.promise;
  const ours = nextEvent(events, 'task.lost');
  // As if its job had run between the loss of the lock and its return.
  await bench.pool.query(
    `update tasks set status = 'falha_processando', reenfileirado = true, proxima_tentativa = data_hora where id = $1`,
    [id],
  );
  await bench.pool.query(
    `insert into tasks (processo, id_inicial, data_hora, tentativa, status, id_anterior)
     select processo, id, data_hora, 2, 'agendada', id from tasks where id = $1`,
    [id],
  );
  end.resolve();
  expect((await ours).task.id).toBe(id);
  await nsj.promote();
  await nsj.drain();
  await until(async () => {
    const [first, second] = await bench.chain(id);
    return first?.status === 'falha_processando' && second?.status === 'sucesso';
  }, 'its next attempt to succeed');
  await nsj.stop();
});

test('what a killed worker of nsj-queue-lib left is recovered, what a living one runs is not', async () => {
  const ready = deferred();
  let waiting = 0;
  const never = async (): Promise<string> => {
    waiting += 1;
    if (waiting === 2) ready.resolve();
    return new Promise(() => undefined);
  };
  const [first = '', second = ''] = await (async () => {
    await (await bench.start({ worker: false })).close();
    return insert('a', 'b');
  })();
  const killed = await NsjWorker.start(bench.database.url, never);
  const alive = await NsjWorker.start(bench.database.url, never);
  void killed.drain().catch(() => undefined);
  await until(async () => (await bench.statusOf(first)) === 'processando', 'the first to run');
  void alive.drain().catch(() => undefined);
  await ready.promise;
  class Quick {
    @TaskHandler()
    run(): void {}
  }
  const recovery = { intervalMs: 50, confirmMs: 0, graceMs: 0 };
  const { events } = await bench.start({ handlers: [Quick], ...interop, recovery });
  const recovered = nextEvent(events, 'task.recovered');
  killed.kill();
  expect((await recovered).task.id).toBe(first);
  const attempts = await bench.endedChain(first, 2);
  expect(attempts.map(({ status }) => status)).toEqual(['falha', 'sucesso']);
  expect(attempts[0]?.mensagem).toContain('a worker of nsj-queue-lib was lost');
  expect(await bench.row(second)).toMatchObject({ status: 'processando', executor: null });
  alive.kill();
  await bench.endedChain(second, 2);
});

test('rows without a worker of ours are left alone unless it is said that both kinds work here', async () => {
  await (await bench.start({ worker: false })).close();
  const [id = ''] = await insert('a');
  await bench.pool.query(`update tasks set status = 'processando' where id = $1`, [id]);
  const { retry } = await startRecovering();
  await retry.run();
  expect(await bench.row(id)).toMatchObject({ status: 'processando', executor: null });
});

async function startRecovering() {
  const { app } = await bench.start({
    pollIntervalMs: 0,
    recovery: { intervalMs: 60_000, confirmMs: 0, graceMs: 0 },
  });
  const { RetryRoutine } = await import('../../lib/index.js');
  return { retry: app.get(RetryRoutine) };
}

test('both kinds of workers drain one table: every task runs once, and its effect is there once', async () => {
  await bench.pool.query('create table if not exists effects (task bigint, kind text)');
  await bench.pool.query('truncate effects');
  class Effects {
    @TaskHandler()
    async run(_payload: unknown, { db, task }: TaskContext): Promise<void> {
      await db.query(`insert into effects values ($1, 'ours')`, [task.firstAttemptId]);
      await pause(3);
      if (task.attempt === 1 && Number(task.id) % 7 === 0) throw new Error('once more');
    }
  }
  const app = await bench.start({ handlers: [Effects], concurrency: 5, ...interop, retryIntervalMinutes: 0 });
  const nsj = await Promise.all(
    [1, 2, 3].map(() =>
      NsjWorker.start(bench.database.url, async ({ id }, connection) => {
        await connection.query(
          `insert into effects select coalesce(id_inicial, id), 'nsj' from tasks where id = $1`,
          [id],
        );
        return 'done';
      }),
    ),
  );
  let isOver = false;
  const stopped = (): boolean => isOver;
  const work = nsj.map(async (worker, index) => {
    while (!stopped()) {
      if (index === 2) await worker.retryCrashed();
      await worker.promote();
      await worker.drain();
    }
  });
  const total = 400;
  for (let n = 0; n < total / 20; n += 1) {
    await insert(...Array.from({ length: 10 }, () => 'nsj producer'));
    await app.queue.insertTasks(Array.from({ length: 10 }, () => ({ topic: 'our producer' })));
  }
  await until(async () => {
    const { rows } = await bench.pool.query<{ open: number }>(
      `select count(*)::int as open from tasks where status in ('pendente', 'agendada', 'processando')`,
    );
    return rows[0]?.open === 0;
  }, 'all to end');
  isOver = true;
  await Promise.all(work);
  const { rows } = await bench.pool.query<{ kind: string; tasks: number; effects: number }>(
    'select kind, count(distinct task)::int as tasks, count(*)::int as effects from effects group by kind order by kind',
  );
  expect(rows.reduce((sum, { effects }) => sum + effects, 0)).toBe(total);
  expect(rows.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(total);
  const crashed = await bench.pool.query(`select from tasks where status = 'falha_processando'`);
  expect(crashed.rowCount).toBe(0);
  // Both had their part.
  expect(rows.map(({ kind }) => kind)).toEqual(['nsj', 'ours']);
  for (const worker of nsj) await worker.stop();
});
