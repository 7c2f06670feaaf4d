import { expect, test } from 'vitest';
import { getQueueToken, QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import { runCli } from '../cli/support.js';
import { countStatuses } from '../support/statuses.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { NsjWorker } from './nsj-worker.js';

const bench = useQueue();
const interop = { interop: 'nsj', pollIntervalMs: 0, recovery: false } as const;

class Effects {
  static count = 0;

  @TaskHandler()
  run(_payload: unknown, { task }: TaskContext): void {
    if (task.topic === 'counted') Effects.count += 1;
  }
}

/** Scheduled tasks that were due a moment ago. */
async function insertDue(count: number): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status, data_hora)
     select 'counted', 'agendada', now() - interval '1 second' from generate_series(1, $1::int) returning id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

async function insertLater(topic = 'later'): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, data_hora) values ($1, now() + interval '1 hour') returning id`,
    [topic],
  );
  return rows[0]?.id ?? '';
}

const statuses = async (): Promise<readonly string[]> => Object.keys(await countStatuses(bench.pool));

/** Holds the lock of the notify job. */
async function holdLock() {
  const holder = await bench.connect();
  await holder.query(`set application_name = 'the notify job'`);
  await holder.query('select pg_try_advisory_lock(3)');
  return holder;
}

const waiting = (): Promise<unknown> =>
  until(async () => {
    const { rowCount } = await bench.pool.query(
      `select from pg_locks where locktype = 'advisory' and objid = 3 and not granted
         and database = (select oid from pg_database where datname = current_database())`,
    );
    return rowCount === 1;
  }, 'somebody to wait for the lock');

test('what the notify job of nsj-queue-lib has listed is promoted by it alone, and runs once', async () => {
  Effects.count = 0;
  // Nothing but its routine promotes: the timer would before there is a list.
  const app = await bench.start({ handlers: [Effects], ...interop, scheduledTimer: false });
  const nsj = await NsjWorker.start(bench.database.url, () => Promise.resolve('done'));
  const ids = await insertDue(300);
  await nsj.promote(async (listed) => {
    expect(listed).toHaveLength(ids.length);
    expect(await app.notify.run()).toBe(0);
    expect(await statuses()).toEqual(['agendada']);
  });
  await until(async () => (await statuses()).join() === 'sucesso', 'all to succeed');
  expect(Effects.count).toBe(ids.length);
  await nsj.stop();
});

test('whoever holds the lock of the notify job is the only one to promote', async () => {
  const app = await bench.start({ handlers: [Effects], ...interop, scheduledTimer: false });
  const nsj = await NsjWorker.start(bench.database.url, () => Promise.resolve('done'));
  const [id = ''] = await insertDue(1);
  const holder = await holdLock();
  expect(await nsj.promote()).toBe(false);
  expect(await app.notify.run()).toBe(0);
  await holder.query('select pg_advisory_unlock(3)');
  expect(await app.notify.run()).toBe(1);
  await bench.ended(id);
  expect(await nsj.promote()).toBe(true);
  await nsj.stop();
});

test('without interop a worker promotes whoever holds that lock', async () => {
  const app = await bench.start({ handlers: [Effects], pollIntervalMs: 0, scheduledTimer: false });
  await holdLock();
  await insertDue(2);
  expect(await app.notify.run()).toBe(2);
});

const changes = {
  cancel: (admin, id) => admin.cancel(id),
  bury: (admin, id) => admin.bury(id),
  runNow: (admin, id) => admin.runNow(id),
  'cancel of many': async (admin, id) => {
    const run = admin.bulk('cancel');
    await run.block(await run.plan({ ids: [id] }), '0');
  },
} satisfies Record<string, (admin: QueueAdmin, id: string) => Promise<unknown>>;

test.each(Object.entries(changes))(
  '%s of a scheduled task waits for the notify job, whose list it may be on',
  async (name, change) => {
    const { app } = await bench.start({ ...interop, worker: false });
    const admin = app.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin));
    const id = await insertLater();
    const holder = await holdLock();
    const changed = change(admin, id);
    await waiting();
    expect(await bench.row(id)).toMatchObject({ status: 'agendada' });
    await holder.query('select pg_advisory_unlock(3)');
    await changed;
    expect(await bench.row(id)).toMatchObject({ status: name === 'runNow' ? 'pendente' : 'falha' });
  },
);

test('a change that never gets its lock says who holds the lock, and changes nothing', async () => {
  const { app } = await bench.start({ ...interop, worker: false });
  const admin = app.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin));
  const id = await insertLater();
  const holder = await holdLock();
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
  await expect(admin.cancel(id)).rejects.toMatchObject({
    code: 'QUEUE_BUSY',
    message: expect.stringContaining(`session ${rows[0]?.pid} (the notify job, idle`),
  });
  expect(await bench.row(id)).toMatchObject({ status: 'agendada' });
});

test('a task that is pending, or a queue without interop, does not wait for it', async () => {
  const { app } = await bench.start({ ...interop, worker: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo) values ('now') returning id`,
  );
  const scheduled = await insertLater();
  await holdLock();
  await app.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin)).cancel(rows[0]?.id ?? '');
  const { app: plain } = await bench.start({ worker: false });
  await plain.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin)).cancel(scheduled);
  expect(await statuses()).toEqual(['falha']);
});

test('the command line waits as well when it is told of both kinds', async () => {
  await (await bench.start({ worker: false })).close();
  const [told, untold] = [await insertLater(), await insertLater()];
  const holder = await holdLock();
  const cancel = (...args: string[]) =>
    runCli(['cancel', ...args, '--table', 'tasks', '--url', bench.database.url]);
  expect(await cancel(untold)).toMatchObject({ code: 0 });
  const cancelled = cancel(told, '--interop');
  await waiting();
  await holder.query('select pg_advisory_unlock(3)');
  expect(await cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('cancelled') });
});
