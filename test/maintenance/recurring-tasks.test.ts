import { Injectable } from '@nestjs/common';
import { expect, onTestFinished, test, vi } from 'vitest';
import { QueueAdmin, Recurring, TaskHandler, type TaskContext } from '../../lib/index.js';
import { RecurringTasks } from '../../lib/maintenance/recurring-tasks.js';
import { occurrenceOf } from '../../lib/storage/schedule-occurrence.js';
import type { ScheduleStore } from '../../lib/storage/schedules.js';
import { coreOf, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { holdTimers } from '../support/held-timers.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { declare, madeBy, rewind, timesOf } from './recurring-bench.js';

const bench = useQueue('tasks_schedule');

interface Started extends QueueApp {
  readonly admin: QueueAdmin;
  readonly schedules: ScheduleStore;
}

async function start(options: QueueAppOptions = {}): Promise<Started> {
  const app = await bench.start({ pollIntervalMs: 0, ...options });
  return { ...app, admin: app.app.get(QueueAdmin), schedules: coreOf(app.app).database.schedules };
}

/** Looks for the schedules that are due as so many more workers do. */
function workersOf(
  { app, events }: QueueApp,
  count: number,
  declared: readonly string[] = [],
): RecurringTasks[] {
  const { database, storage } = coreOf(app);
  const parts = {
    database,
    bell: storage.bell,
    events,
    declared: () => declared,
    options: { pollIntervalMs: 0 },
  };
  const workers = Array.from({ length: count }, () => new RecurringTasks(parts));
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
  return workers;
}

test('a schedule runs its task at each of its times', async () => {
  const ran = deferred<TaskContext>();
  @Injectable()
  class Handlers {
    @TaskHandler('tick')
    @Recurring('ticker', { every: 1_000, missed: 'all', task: { payload: { n: 1 }, priority: 9 } })
    tick(payload: { readonly n: number }, ctx: TaskContext): void {
      expect(payload).toEqual({ n: 1 });
      ran.resolve(ctx);
    }
  }
  const { admin } = await start({ handlers: [Handlers] });
  const { task } = await ran.promise;
  expect(task).toMatchObject({ topic: 'tick', priority: 9, metadata: { 'tarefa:schedule': 'ticker' } });
  const tasks = await until(async () => {
    const made = await madeBy(admin, 'ticker');
    return made.length >= 3 && made;
  }, 'three ticks');
  const [first = 0, second, third] = timesOf(tasks);
  expect([second, third]).toEqual([first + 1_000, first + 2_000]);
  expect(await admin.schedules.find('ticker')).toMatchObject({ status: 'active', declared: true, missed: 0 });
});

test('however many workers find it due, and whichever of them end, each time makes one task', async () => {
  const fleet = await Promise.all(
    Array.from({ length: 4 }, () => start({ autoStart: false, poolSize: 2, concurrency: 1 })),
  );
  const [{ admin, schedules }] = fleet as [Started];
  const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
  const task = { topic: 'tick' };
  for (const id of ids) await admin.schedules.add({ id, every: 1_000, missed: 'all', task });
  const starts = await Promise.all(ids.map((id) => rewind(schedules, id, 100_000)));
  const workers = fleet.flatMap((one) => workersOf(one, 5));
  for (const worker of workers) worker.start();
  const isBehind = async (): Promise<boolean> => (await schedules.due([], 1)).due.length > 0;
  await until(async () => (await admin.counts()).some(({ count }) => count > 500), 'they have begun');
  await Promise.all(workers.slice(0, 10).map((worker) => worker.stop()));
  await until(async () => !(await isBehind()), 'all that was due is done');
  await Promise.all(workers.map((worker) => worker.stop()));
  for (const [index, id] of ids.entries()) {
    const nextMs = (await schedules.find(id))?.nextAt?.getTime() ?? 0;
    const from = starts[index] ?? 0;
    const expected = Array.from({ length: (nextMs - from) / 1_000 }, (_, n) => from + n * 1_000);
    expect(expected.length).toBeGreaterThanOrEqual(100);
    expect(timesOf(await madeBy(admin, id))).toEqual(expected);
  }
});

test('a clock of ten minutes later or earlier starts nothing early or late', async () => {
  const { admin, schedules, ...app } = await start({ autoStart: false });
  onTestFinished(() => void vi.useRealTimers());
  for (const offMs of [600_000, -600_000]) {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs });
    const id = `off by ${offMs}`;
    await admin.schedules.add({ id, every: 1_000, task: { topic: 'tick' } });
    const [worker] = workersOf({ ...app }, 1) as [RecurringTasks];
    worker.start();
    const made = await until(async () => {
      const tasks = await madeBy(admin, id);
      return tasks.length >= 2 && tasks;
    }, 'two ticks');
    await worker.stop();
    const lateness = (await schedules.clock()) - (timesOf(made).at(-1) ?? 0);
    expect(lateness).toBeGreaterThanOrEqual(0);
    expect(lateness).toBeLessThan(60_000);
    vi.useRealTimers();
    await admin.schedules.remove(id);
  }
});

test.each([
  ['that has gone by it', 1],
  ['that start afterwards', 4],
])('a clock that was two hours ahead holds nothing up once it is right: workers %s', async (_, count) => {
  const { admin, schedules, app, events } = await start({ autoStart: false });
  for (const missed of ['once', 'all'] as const) {
    await admin.schedules.add({ id: missed, every: 60_000, missed, task: { topic: 'tick' } });
    await rewind(schedules, missed, 1_000);
  }
  await admin.schedules.add({ id: 'nightly', cron: '0 3 * * *', task: { topic: 'tick' } });
  const { database, storage } = coreOf(app);
  let aheadMs = 7_200_000;
  const ahead: Pick<ScheduleStore, 'due' | 'list' | 'move'> = {
    list: () => schedules.list(),
    move: (moves) => schedules.move(moves),
    due: async (declared, most) => {
      const found = await schedules.due(declared, most);
      return { ...found, nowMs: found.nowMs + aheadMs };
    },
  };
  const options = { pollIntervalMs: 0 };
  const worker = new RecurringTasks({
    ...{ bell: storage.bell, events, options, declared: () => [] },
    database: { schedules: ahead as ScheduleStore, classify: (error) => database.classify(error) },
  });
  onTestFinished(() => worker.stop());
  worker.start();
  const next = async (id: string): Promise<number> => {
    const found = await schedules.find(id);
    return (found?.nextAt?.getTime() ?? 0) - (await schedules.clock());
  };
  const hourMs = 3_600_000;
  for (const id of ['once', 'all']) await until(async () => (await next(id)) > hourMs, 'it is planned ahead');
  const nightly = (await schedules.find('nightly'))?.nextAt;

  const told = nextEvent(events, 'notice', ({ message }) => message.includes('was set back'));
  aheadMs = 0;
  if (count === 1) worker.look();
  else for (const one of workersOf({ app, events } as QueueApp, count)) one.start();
  await told;
  expect(await next('once')).toBeLessThanOrEqual(60_000);
  expect(await next('all'), 'each of its times has its task').toBeGreaterThan(hourMs);
  expect((await schedules.find('nightly'))?.nextAt).toEqual(nightly);
  // Its next time comes.
  const dueMs = await rewind(schedules, 'once', 1_000);
  const others = workersOf({ app, events } as QueueApp, 3);
  for (const one of others) one.start();
  const madeFor = async (): Promise<readonly number[]> => timesOf(await madeBy(admin, 'once'));
  await until(async () => (await madeFor()).includes(dueMs), 'it goes on');
  await Promise.all(others.map((one) => one.stop()));
  expect((await madeFor()).filter((time) => time === dueMs)).toHaveLength(1);
});

test('of two deploys with different code the one that started last decides, and both go by it', async () => {
  @Injectable()
  class Before {
    @TaskHandler('before')
    @Recurring('nightly', { cron: '0 3 * * *' })
    run(): void {}
  }
  @Injectable()
  class After {
    @TaskHandler('after')
    @Recurring('nightly', { cron: '0 4 * * *', missed: 'all' })
    run(): void {}
  }
  const before = await start({ handlers: [Before] });
  const after = await start({ handlers: [After] });
  const declared = { rule: { cron: '0 4 * * *' }, task: { topic: 'after' } };
  expect(await before.admin.schedules.find('nightly')).toMatchObject(declared);
  await after.close();
  const dueMs = await rewind(before.schedules, 'nightly', 5_000);
  const completed = nextEvent(before.events, 'routine.failed', undefined, 1).catch(() => 'none failed');
  await before.admin.schedules.pause('nightly');
  await before.admin.schedules.resume('nightly');
  expect(await completed).toBe('none failed');
  // Rewound after the last change, which leaves what is due alone.
  await rewind(before.schedules, 'nightly', 5_000);
  await before.admin.schedules.add({ id: 'bell', cron: '0 5 * * *', task: { topic: 'bell' } });
  const [made] = await until(async () => {
    const tasks = await madeBy(before.admin, 'nightly');
    return tasks.length > 0 && tasks;
  }, 'the old deploy inserts the task of the new one');
  expect(made).toMatchObject({ topic: 'after', status: 'pending' });
  expect(timesOf([made!])[0]).toBeGreaterThanOrEqual(dueMs);
  const again = await start({ handlers: [Before] });
  expect(await again.admin.schedules.find('nightly')).toMatchObject({ rule: { cron: '0 3 * * *' } });
});

test('a tick that one deploy makes while another one with different code starts is not made again', async () => {
  const tick = (Math.floor(Date.now() / 1_000) + 86_400) * 1_000;
  const startsAt = new Date(tick);
  @Injectable()
  class Before {
    @TaskHandler('tick')
    @Recurring('ticker', { every: 1_000, startsAt })
    run(): void {}
  }
  @Injectable()
  class After {
    @TaskHandler('tick')
    @Recurring('ticker', { every: 1_000, startsAt, task: { priority: 7 } })
    run(): void {}
  }
  const after = await start({ handlers: [After] });
  const before = await start({ handlers: [Before] });
  const clock = vi.spyOn(after.schedules, 'clock');
  clock.mockImplementationOnce(async () => {
    const ticked = (await before.schedules.find('ticker'))!;
    const task = occurrenceOf(ticked, { atMs: tick, dueAt: null, onConflict: 'return' });
    const next = { revision: ticked.revision, nextMs: tick + 1_000, missed: 0 };
    await before.schedules.move([{ id: 'ticker', ...next, tasks: [task], lastMs: tick }]);
    // As the clock was just before the tick.
    return tick - 1;
  });
  await coreOf(after.app).schedules.restore();
  expect(await after.admin.schedules.find('ticker')).toMatchObject({
    task: { priority: 7 },
    lastAt: new Date(tick),
    nextAt: new Date(tick + 1_000),
  });
  expect(timesOf(await madeBy(before.admin, 'ticker'))).toEqual([tick]);
});

test('what nobody declares any more is shown, and neither run nor dropped', async () => {
  @Injectable()
  class Declaring {
    @TaskHandler('tick')
    @Recurring('leap day', { cron: '0 3 29 2 *', missed: 'once' })
    run(): void {}
  }
  @Injectable()
  class Others {
    @TaskHandler('tick')
    run(): void {}
  }
  const first = await start({ handlers: [Declaring] });
  expect(await first.admin.schedules.list()).toMatchObject([{ id: 'leap day', status: 'active' }]);
  await first.close();
  const { admin, schedules, close } = await start({ handlers: [Others] });
  // None of its times lies between.
  const dueMs = await rewind(schedules, 'leap day', 7_200_000);
  // A change makes it look.
  await admin.schedules.add({ id: 'mine', every: 1_000, task: { topic: 'tick' } });
  await until(async () => (await madeBy(admin, 'mine')).length > 0, 'it has looked');
  expect(await admin.schedules.find('leap day')).toMatchObject({
    status: 'undeclared',
    nextAt: new Date(dueMs),
    missed: 0,
  });
  expect(await madeBy(admin, 'leap day')).toEqual([]);
  await close();
  const again = await start({ handlers: [Declaring] });
  const made = await until(async () => {
    const tasks = await madeBy(again.admin, 'leap day');
    return tasks.length > 0 && tasks;
  }, 'it goes on');
  expect(timesOf(made)).toEqual([dueMs]);
  expect(await again.admin.schedules.find('leap day')).toMatchObject({ status: 'active', missed: 0 });
});

test('thousands are not asked for between their times, and a change is heard', async () => {
  const { admin, schedules, app, events } = await start({ autoStart: false });
  await admin.schedules.add({ id: 'model', cron: '0 3 * * *', task: { topic: 'far' } });
  const { rule, task } = (await schedules.find('model'))!;
  const nextAt = new Date((await schedules.clock()) + 86_400_000);
  const ids = Array.from({ length: 3_000 }, (_, index) => `far ${index}`);
  await declare(
    schedules,
    ids.map((id) => ({ id, rule, task, nextAt })),
  );
  const due = vi.spyOn(schedules, 'due');
  const asked = (): readonly unknown[] => due.mock.settledResults.filter(({ type }) => type === 'fulfilled');
  const { database, storage } = coreOf(app);
  const options = { pollIntervalMs: 0 };
  const worker = new RecurringTasks({ database, bell: storage.bell, events, declared: () => ids, options });
  onTestFinished(() => worker.stop());
  // Its only timer is that of the next look.
  const timers = holdTimers((ms) => ms === 300_000);
  worker.start();
  await until(async () => timers.waiting === 1, 'it waits as long as it ever does');
  expect(asked()).toMatchObject([{ value: { due: [] } }]);
  timers.ringFirst();
  await until(async () => timers.waiting === 1, 'it has looked, and waits again');
  expect(asked()).toHaveLength(2);
  timers.release();
  const other = await start();
  await other.admin.schedules.add({ id: 'soon', every: 1_000, task: { topic: 'tick' } });
  await admin.schedules.add({ id: 'heard', every: 1_000, task: { topic: 'tick' } });
  await until(async () => (await madeBy(admin, 'heard')).length > 0, 'another process has heard of it');
  expect(asked()).toHaveLength(2);
});

test('a task that the table refuses holds up no other, and is told once', async () => {
  const { admin, schedules, ...app } = await start({ autoStart: false });
  for (const id of ['a', 'bad', 'z']) {
    await admin.schedules.add({ id, cron: '0 3 * * *', task: { topic: id } });
    await rewind(schedules, id, 1_000);
  }
  await refuseRows(bench.pool, {
    when: 'before insert',
    condition: `new.processo = 'bad'`,
    message: 'no bad ones',
  });
  onTestFinished(() => acceptRows(bench.pool));
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => void warnings.push(message));
  const [worker] = workersOf({ ...app }, 1) as [RecurringTasks];
  worker.start();
  await until(
    async () => (await madeBy(admin, 'z')).length === 1 && (await madeBy(admin, 'a')).length === 1,
    'others',
  );
  await until(async () => warnings.length > 0, 'it is told');
  await acceptRows(bench.pool);
  worker.look();
  await until(async () => (await madeBy(admin, 'bad')).length === 1, 'it is made after all');
  expect(warnings).toEqual([
    expect.stringContaining(`the task of the schedule 'bad' cannot be inserted and will be retried: `),
  ]);
});

test.each([
  ['no JSON', 'nonsense', 'was not written by this library'],
  ['of another version', '{"cron":"every night"}', 'needs five fields'],
])('a row that was written by hand, %s, holds up no other', async (_, rule, problem) => {
  const { admin, schedules, ...app } = await start({ autoStart: false });
  for (const id of ['a', 'bad', 'z']) {
    await admin.schedules.add({ id, cron: '0 3 * * *', task: { topic: id } });
    await rewind(schedules, id, 1_000);
  }
  await bench.pool.query(`update tasks_schedule set rule = $1 where id = 'bad'`, [rule]);
  const warned = nextEvent(app.events, 'warning', ({ message }) => message.includes(`the schedule 'bad'`));
  const [worker] = workersOf({ ...app }, 1) as [RecurringTasks];
  worker.start();
  for (const id of ['a', 'z'])
    await until(async () => (await madeBy(admin, id)).length === 1, `the task of ${id}`);
  expect((await warned).message).toContain(problem);
});

test('while the task before has not ended there is none, and what was missed is counted', async () => {
  const held = deferred();
  const begun = deferred();
  @Injectable()
  class Slow {
    @TaskHandler('slow')
    @Recurring('slow', { cron: '0 3 * * *', overlap: 'skip', missed: 'all' })
    async run(): Promise<void> {
      begun.resolve();
      await held.promise;
    }
  }
  onTestFinished(() => held.resolve());
  const { admin, schedules, events } = await start({ handlers: [Slow] });
  const look = async (): Promise<void> => {
    await rewind(schedules, 'slow', 1_000);
    await admin.schedules.add({ id: 'other', cron: '0 3 * * *', task: {} });
    await until(async () => {
      const { nextAt } = (await admin.schedules.find('slow')) ?? {};
      return (nextAt?.getTime() ?? 0) > (await schedules.clock());
    }, 'it has moved');
    await admin.schedules.remove('other');
  };
  await look();
  await begun.promise;
  await look();
  expect(await admin.schedules.find('slow')).toMatchObject({ missed: 1 });
  await expect(admin.schedules.run('slow')).rejects.toMatchObject({
    code: 'TASK_DUPLICATE',
    message: expect.stringMatching(/^task \d+ of schedule "slow" has not finished/) as unknown,
  });
  const completed = nextEvent(events, 'task.completed');
  held.resolve();
  await completed;
  await look();
  await until(async () => (await madeBy(admin, 'slow')).length === 2, 'the next one');
  expect(await admin.schedules.find('slow')).toMatchObject({ missed: 1 });
});

test('tasks are due by chance within the jitter', async () => {
  const { admin, schedules, app, events } = await start({ autoStart: false });
  await admin.schedules.add({ id: 'spread', cron: '0 3 * * *', jitter: 3_600_000, task: { topic: 'tick' } });
  const dueMs = await rewind(schedules, 'spread', 1_000);
  const { database, storage } = coreOf(app);
  const parts = { database, bell: storage.bell, events, declared: () => [], options: { pollIntervalMs: 0 } };
  const worker = new RecurringTasks({ ...parts, random: () => 0.5 });
  onTestFinished(() => worker.stop());
  worker.start();
  const [made] = await until(async () => {
    const tasks = await madeBy(admin, 'spread');
    return tasks.length > 0 && tasks;
  }, 'its task');
  expect(made).toMatchObject({ status: 'scheduled', dueAt: new Date(dueMs + 1_800_000) });
});
