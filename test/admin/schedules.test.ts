import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler, type ScheduleInput } from '../../lib/index.js';
import { declare, madeBy, rewind } from '../maintenance/recurring-bench.js';
import { coreOf } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue('tasks_schedule');

async function start(options = {}) {
  const { app } = await bench.start({ worker: false, pollIntervalMs: 0, ...options });
  const admin = app.get(QueueAdmin);
  return { admin, schedules: admin.schedules, store: coreOf(app).database.schedules };
}

/** Able to move schedules, and moving none by itself. */
const idle = { worker: true, autoStart: false };

const digest: ScheduleInput = {
  id: 'digest',
  cron: '0 7 * * mon',
  timezone: 'Europe/Lisbon',
  startsAt: new Date('2030-01-01T00:00:00Z'),
  task: { topic: 'send-digest', payload: { to: 'ana' }, tenant: 7, priority: 3, maxAttempts: 2 },
};

test('schedules are added, listed, changed and removed', async () => {
  const { schedules } = await start();
  const added = await schedules.add(digest);
  expect(added).toEqual({
    id: 'digest',
    declared: false,
    status: 'active',
    rule: {
      cron: '0 7 * * mon',
      every: null,
      timezone: 'Europe/Lisbon',
      startsAt: '2030-01-01T00:00:00.000Z',
      endsAt: null,
      missed: 'once',
      overlap: 'allow',
      jitter: 0,
    },
    task: {
      topic: 'send-digest',
      payload: '{"to":"ana"}',
      externalKey: null,
      origin: null,
      destination: null,
      tenant: '7',
      group: null,
      priority: 3,
      metadata: { 'tarefa:maxAttempts': 2 },
    },
    nextAt: new Date('2030-01-07T07:00:00Z'),
    lastAt: null,
    missed: 0,
    pausedAt: null,
  });
  await expect(schedules.add(digest)).rejects.toMatchObject({ code: 'SCHEDULE_EXISTS' });
  const hourly = await schedules.change('digest', { every: 3_600_000, startsAt: null });
  expect(hourly).toMatchObject({ rule: { cron: null, every: 3_600_000, timezone: 'UTC', startsAt: null } });
  expect(hourly.task).toEqual(added.task);
  const daily = {
    cron: '@daily',
    missed: 'all',
    overlap: 'skip',
    jitter: 5,
    endsAt: '2031-01-01T00:00Z',
  } as const;
  expect(await schedules.change('digest', { ...daily, task: { topic: 'b' } })).toMatchObject({
    rule: { ...daily, every: null, endsAt: '2031-01-01T00:00:00.000Z' },
    task: { topic: 'b', payload: null },
  });
  expect(await schedules.change('digest', { endsAt: '2020-01-01T00:00Z' })).toMatchObject({
    status: 'ended',
    nextAt: null,
  });
  expect((await schedules.list()).map(({ id }) => id)).toEqual(['digest']);
  await schedules.remove('digest');
  expect(await schedules.find('digest')).toBeUndefined();
});

test('a change leaves what is due', async () => {
  const { schedules, store } = await start(idle);
  await schedules.add({ ...digest, startsAt: null });
  const dueMs = await rewind(store, 'digest', 1_000);
  expect(await schedules.change('digest', { cron: '0 9 * * *' })).toMatchObject({ nextAt: new Date(dueMs) });
});

test('a schedule is paused, resumed and run now', async () => {
  const { admin, schedules, store } = await start(idle);
  await schedules.add({ ...digest, startsAt: null });
  const paused = await schedules.pause('digest');
  expect(paused).toMatchObject({ status: 'paused', pausedAt: expect.any(Date) as unknown });
  const id = await schedules.run('digest');
  const { current } = await admin.find(id);
  expect(current).toMatchObject({
    topic: 'send-digest',
    payload: '{"to":"ana"}',
    priority: 3,
    metadata: { 'tarefa:schedule': 'digest', 'tarefa:maxAttempts': 2 },
  });
  expect(current.metadata?.['tarefa:occurrence']).toMatch(/^\d{4}-/);
  await rewind(store, 'digest', 7_200_000);
  const resumed = await schedules.resume('digest');
  expect(resumed).toMatchObject({ status: 'active', pausedAt: null, missed: 0 });
  expect(resumed.nextAt?.getTime()).toBeGreaterThan(await store.clock());
  expect(await madeBy(admin, 'digest')).toHaveLength(1);
});

test('a worker of another process begins at once with what is added', async () => {
  class Handlers {
    @TaskHandler('send-digest')
    send(): void {}
  }
  await start({ worker: true, handlers: [Handlers] });
  const { admin, schedules } = await start();
  await schedules.add({ id: 'seconds', every: 1_000, task: { topic: 'send-digest' } });
  await until(
    async () => (await madeBy(admin, 'seconds')).some(({ status }) => status === 'succeeded'),
    'its task',
  );
  expect((await schedules.find('seconds'))?.lastAt).toBeInstanceOf(Date);
});

test('what code declares is changed there', async () => {
  const { schedules, store } = await start();
  await schedules.add({ ...digest, id: 'model' });
  const { rule, task, nextAt } = (await store.find('model'))!;
  await declare(store, [{ id: 'nightly', rule, task, nextAt }]);
  await expect(schedules.change('nightly', { cron: '@daily' })).rejects.toMatchObject({
    code: 'SCHEDULE_DECLARED',
  });
  expect(await schedules.find('nightly')).toMatchObject({ status: 'undeclared', declared: true });
  expect((await schedules.run('nightly')).length).toBeGreaterThan(0);
  // Nobody that runs declares it.
  await schedules.remove('nightly');
  expect((await schedules.list()).map(({ id }) => id)).toEqual(['model']);
});

test('what is not there cannot be changed, and what cannot be is refused', async () => {
  const { schedules } = await start();
  for (const call of [
    () => schedules.change('nobody', { every: 1_000 }),
    () => schedules.remove('nobody'),
    () => schedules.pause('nobody'),
    () => schedules.resume('nobody'),
    () => schedules.run('nobody'),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' });
  }
  await schedules.add(digest);
  for (const input of [
    { ...digest, id: '' },
    { ...digest, id: 'x'.repeat(101) },
    { ...digest, id: 'b', task: undefined },
    { ...digest, id: 'b', task: { topic: 'a', unique: 'k' } },
    { ...digest, id: 'b', every: 5 },
    { ...digest, id: 'b', paused: true },
    null,
  ]) {
    await expect(schedules.add(input as never)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  await expect(schedules.change('digest', { id: 'b' } as never)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
  });
  await expect(schedules.change('digest', { cron: null })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await schedules.list()).toHaveLength(1);
});
