import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, expect, test, vi } from 'vitest';
import { TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

/** Nothing but the routines does anything, and they know no task. */
const passive = {
  recovery: { intervalMs: 3_600_000, confirmMs: 20, graceMs: 0 },
  scheduledTimer: false,
  pollIntervalMs: 0,
  unknownTasks: 'leave',
  imports: [ScheduleModule.forRoot()],
} as const satisfies QueueAppOptions;

/** One row for each routine, told apart by its topic, and what becomes of it. */
const insertWork = `
  insert into tasks (processo, status, executor, data_hora) values
    ('retry', 'processando', 4711, now() - interval '1 minute'),
    ('notify', 'agendada', null, now() - interval '1 minute'),
    ('purge', 'sucesso', null, now() - interval '100 days')`;
const done = { retry: 'falha', notify: 'pendente', purge: undefined } as const;
const routines = ['retry', 'notify', 'purge'] as const;

const database = await useDatabase();
let app: QueueApp | undefined;

afterEach(async () => {
  vi.useRealTimers();
  await app?.close();
  await database.pool.query('drop table tasks cascade');
});

async function start(options: QueueAppOptions): Promise<QueueApp> {
  app = await startApp(database, { ...passive, ...options });
  return app;
}

async function statuses(): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query<{ processo: string; status: string }>(
    'select processo, status from tasks where id_anterior is null',
  );
  return Object.fromEntries(rows.map(({ processo, status }) => [processo, status]));
}

/** The worker starts a second before minute 7 of an hour, by the clock that cron jobs read. It stands still until then. */
async function startBeforeMinuteSeven({ worker }: QueueApp): Promise<void> {
  const now = new Date(2030, 0, 1, 12, 6, 59);
  vi.useFakeTimers({ toFake: ['Date'], now });
  await worker.start();
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ['Date'], now, shouldAdvanceTime: true });
}

test.each(routines)(
  'the %s routine does its own work, and no other, at its listed minute',
  async (routine) => {
    const queue = await start({ [`${routine}Minutes`]: [7, 9], autoStart: false });
    await database.pool.query(insertWork);
    const before = await statuses();
    const finished = nextEvent(queue.events, 'routine.finished');
    await startBeforeMinuteSeven(queue);
    expect(await finished).toMatchObject({ routine, affected: 1 });
    const { [routine]: _, ...others } = before;
    expect(await statuses()).toEqual({ ...others, ...(done[routine] && { [routine]: done[routine] }) });
  },
);

test('no routine runs at a minute that is not listed', async () => {
  const minutes = { retryMinutes: [8], notifyMinutes: '6, 8', purgeMinutes: [59] };
  const queue = await start({ ...minutes, autoStart: false });
  const ran: string[] = [];
  queue.events.on('routine.finished', ({ routine }) => ran.push(routine));
  await startBeforeMinuteSeven(queue);
  // Minute 7 has come when the clock says so.
  await until(async () => new Date().getMinutes() === 7 && new Date().getSeconds() > 0, 'minute 7');
  expect(ran).toEqual([]);
  const registry = queue.app.get(SchedulerRegistry);
  const next = (routine: string) => registry.getCronJob(`tarefa:default:${routine}`).nextDate().minute;
  expect(routines.map(next)).toEqual([8, 8, 59]);
});

test('handlers that insert without end keep no routine from its minute, nor the worker from its end', async () => {
  let runs = 0;
  class Handlers {
    @TaskHandler('again')
    async again(): Promise<void> {
      runs += 1;
      await app?.queue.insertTask({ topic: 'again' });
    }
  }
  const minutes = { retryMinutes: [7], notifyMinutes: [7], purgeMinutes: [7] };
  const queue = await start({ ...minutes, autoStart: false, handlers: [Handlers] });
  await database.pool.query(insertWork);
  // More than there are slots: each that ends leaves one behind.
  await queue.queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'again' })));
  const busy = async (): Promise<void> => {
    const before = runs;
    await until(async () => runs > before + 100, 'each to run again');
  };
  const finished = routines.map((name) =>
    nextEvent(queue.events, 'routine.finished', ({ routine }) => routine === name),
  );
  await startBeforeMinuteSeven(queue);
  expect(await Promise.all(finished)).toMatchObject(routines.map(() => ({ affected: 1 })));
  const { rows } = await database.pool.query(
    `select processo, status from tasks where processo <> 'again' and id_anterior is null order by id`,
  );
  expect(rows).toEqual([
    { processo: 'retry', status: 'falha' },
    { processo: 'notify', status: 'pendente' },
  ]);
  await busy();
  await queue.close();
  const { rowCount } = await database.pool.query(`select from tasks where status = 'processando'`);
  expect(rowCount).toBe(0);
});

test('by default the routines run every five minutes, the purge once an hour', async () => {
  const { app: nest } = await start({ routines: true });
  const registry = nest.get(SchedulerRegistry);
  const minutes = routines.map((routine) => {
    const next = registry.getCronJob(`tarefa:default:${routine}`).nextDates(12);
    return [...new Set(next.map(({ minute, second }) => minute + second / 60))].sort((a, b) => a - b);
  });
  const everyFive = Array.from({ length: 12 }, (_, n) => n * 5);
  expect(minutes).toEqual([everyFive, everyFive, [0]]);
});

test('a routine that throws is reported, stops nothing, and runs again', async () => {
  const { app: nest, events, worker } = await start({ routines: true });
  const job = nest.get(SchedulerRegistry).getCronJob('tarefa:default:notify');
  await database.pool.query(insertWork);
  await database.pool.query('alter table tasks rename to elsewhere');
  const failures: QueueEventMap['routine.failed'][] = [];
  events.on('routine.failed', (failure) => failures.push(failure));
  for (let round = 1; round <= 2; round += 1) {
    await job.fireOnTick();
    expect(failures).toHaveLength(round);
    expect(failures.at(-1)).toMatchObject({
      routine: 'notify',
      error: { message: expect.stringMatching(/tasks.*exist/) },
    });
  }
  await database.pool.query('alter table elsewhere rename to tasks');
  const finished = nextEvent(events, 'routine.finished');
  await job.fireOnTick();
  expect(await finished).toMatchObject({ routine: 'notify', affected: 1 });
  expect(job.isActive).toBe(true);
  expect(worker.id).toBeDefined();
});

test('a round that takes longer than its interval is waited for, at the end as well', async () => {
  const queue = await start({ routines: true });
  const { app: nest, events } = queue;
  const job = nest.get(SchedulerRegistry).getCronJob('tarefa:default:purge');
  await database.pool.query(insertWork);
  const gate = await database.pool.connect();
  await gate.query('begin; lock table tasks in share row exclusive mode');
  const order: string[] = [];
  events.on('routine.finished', ({ routine, affected }) => order.push(`${routine} ${affected}`));
  const first = job.fireOnTick();
  await job.fireOnTick();
  expect(order).toEqual([]);
  const closed = queue.close().then(() => order.push('closed'));
  await gate.query('commit');
  gate.release();
  await first;
  await closed;
  expect(order).toEqual(['purge 1', 'closed']);
});
