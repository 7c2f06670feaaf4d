import { expect } from 'vitest';
import { encodeTask } from '../../../lib/client/task-input.js';
import type { NewTask } from '../../../lib/storage/inserts.js';
import {
  occurrenceKey,
  scheduleKey,
  type DueSchedule,
  type ScheduleMove,
  type ScheduleRule,
  type ScheduleStore,
  type ScheduleValues,
} from '../../../lib/storage/schedules.js';
import type { TaskRecord } from '../../../lib/task.js';
import { declare } from '../../maintenance/recurring-bench.js';
import { contract } from './contract-test.js';
import { claimAll, complete, register, type OpenDatabase } from './opened.js';

const rule: ScheduleRule = {
  cron: '0 3 * * *',
  every: null,
  timezone: 'Europe/Lisbon',
  startsAt: null,
  endsAt: null,
  missed: 'once',
  overlap: 'allow',
  jitter: 0,
};
const task = encodeTask({ topic: 'a', payload: { name: 'é "\\\'' }, priority: 7 }, false, 1_000_000);
const hourMs = 3_600_000;

/** A schedule that was due an hour ago. */
async function scheduleOf(
  store: ScheduleStore,
  values: Partial<ScheduleValues> = {},
): Promise<ScheduleValues> {
  const nextAt = new Date((await store.clock()) - hourMs);
  return { id: 'nightly', rule, task, nextAt, ...values };
}

async function dueOf(store: ScheduleStore, declared: readonly string[] = []): Promise<DueSchedule> {
  const [due] = (await store.due(declared, 10)).due;
  if (!due) throw new Error('nothing is due');
  return due;
}

/** Goes on in an hour. */
async function moveOf(
  store: ScheduleStore,
  { id, revision, dueMs }: DueSchedule,
  changes: Partial<ScheduleMove> = {},
): Promise<ScheduleMove> {
  const nextMs = Math.round(await store.clock()) + hourMs;
  const tasks = [occurrenceOf(id, dueMs)];
  return { id, revision, nextMs, missed: 0, tasks, lastMs: dueMs, ...changes };
}

function occurrenceOf(id: string, dueMs: number, unique: NewTask['unique'] = null): NewTask {
  const metadata = { [scheduleKey]: id, [occurrenceKey]: new Date(dueMs).toISOString() };
  return { ...task, metadata, unique };
}

/** What every database promises of `ScheduleStore`. */
export function exerciseSchedules(open: OpenDatabase): void {
  const tasksIn = async (opened: Awaited<ReturnType<OpenDatabase>>): Promise<readonly TaskRecord[]> =>
    opened.database.admin.list({}, { greatest: 2n ** 60n, limit: 100, payload: true });

  contract('a schedule is read as it was added, once', async () => {
    const { schedules } = (await open()).database;
    const values = await scheduleOf(schedules);
    expect(await schedules.add(values)).toBe(true);
    const state = {
      declared: false,
      announced: false,
      lastAt: null,
      missed: 0,
      pausedAt: null,
      revision: '1',
    };
    expect(await schedules.find('nightly')).toEqual({ ...values, ...state });
    expect(await schedules.add({ ...values, task: { ...task, topic: 'b' } })).toBe(false);
    await schedules.add({ ...values, id: 'Nightly', nextAt: null });
    expect(await schedules.list()).toEqual([
      { ...values, ...state, id: 'Nightly', nextAt: null },
      { ...values, ...state },
    ]);
    expect(await schedules.find('nobody')).toBeUndefined();
  });

  contract('a change is written over what was read, and leaves what is due', async () => {
    const { schedules } = (await open()).database;
    const values = await scheduleOf(schedules);
    const later = new Date((values.nextAt?.getTime() ?? 0) + 5 * hourMs);
    await schedules.add(values);
    await schedules.add({ ...values, id: 'other', nextAt: later });
    const changed = {
      ...values,
      rule: { ...rule, cron: '0 4 * * *' },
      nextAt: new Date(later.getTime() + hourMs),
    };
    expect(await schedules.change(changed, '2')).toBe(false);
    expect(await schedules.change(changed, '1')).toBe(true);
    expect(await schedules.change(changed, '1')).toBe(false);
    expect(await schedules.find('nightly')).toMatchObject({
      ...changed,
      nextAt: values.nextAt,
      revision: '2',
    });
    expect(await schedules.change({ ...changed, id: 'other' }, '1')).toBe(true);
    expect(await schedules.find('other')).toMatchObject({ nextAt: changed.nextAt });
  });

  contract('a schedule is removed once', async () => {
    const { schedules } = (await open()).database;
    await schedules.add(await scheduleOf(schedules));
    expect(await schedules.remove('nightly')).toBe(true);
    expect(await schedules.remove('nightly')).toBe(false);
    expect(await schedules.list()).toEqual([]);
  });

  contract('a paused schedule is not due, and goes on at the time that it is told', async () => {
    const { schedules } = (await open()).database;
    await schedules.add(await scheduleOf(schedules));
    const due = await dueOf(schedules);
    expect(await schedules.pause('nightly')).toBe(true);
    const pausedAt = (await schedules.find('nightly'))?.pausedAt;
    expect(pausedAt).toBeInstanceOf(Date);
    expect(await schedules.pause('nightly')).toBe(true);
    expect((await schedules.find('nightly'))?.pausedAt).toEqual(pausedAt);
    expect((await schedules.due([], 10)).due).toEqual([]);
    expect(await schedules.move([await moveOf(schedules, due)])).toEqual([]);
    const nextAt = new Date(Math.round(await schedules.clock()) + hourMs);
    expect(await schedules.resume('nightly', nextAt, '2')).toBe(false);
    expect(await schedules.resume('nightly', nextAt, '3')).toBe(true);
    expect(await schedules.resume('nightly', nextAt, '4')).toBe(false);
    expect(await schedules.find('nightly')).toMatchObject({ pausedAt: null, nextAt });
    expect(await schedules.pause('nobody')).toBe(false);
  });

  contract('what is due is found with the clock, the longest first, and when the next one is', async () => {
    const { schedules } = (await open()).database;
    expect(await schedules.due([], 10)).toMatchObject({ due: [], nextInMs: undefined });
    const values = await scheduleOf(schedules);
    const at = (ms: number): Date => new Date((values.nextAt?.getTime() ?? 0) + ms);
    await schedules.add({ ...values, id: 'late', nextAt: at(1) });
    await schedules.add(values);
    await schedules.add({ ...values, id: 'next', nextAt: at(2 * hourMs) });
    await schedules.add({ ...values, id: 'never', nextAt: null });
    const found = await schedules.due([], 10);
    expect(found.due).toEqual([
      { id: 'nightly', rule, task, revision: '1', dueMs: at(0).getTime() },
      { id: 'late', rule, task, revision: '1', dueMs: at(1).getTime() },
    ]);
    expect(Math.abs(found.nowMs - at(hourMs).getTime())).toBeLessThan(60_000);
    expect(found.nowMs + (found.nextInMs ?? 0)).toBeCloseTo(at(2 * hourMs).getTime(), 0);
    expect((await schedules.due([], 1)).due.map(({ id }) => id)).toEqual(['nightly']);
  });

  contract('what code declares is written where it is missing or differs, and due only there', async () => {
    const { schedules } = (await open()).database;
    const values = await scheduleOf(schedules);
    await schedules.add({ ...values, id: 'mine' });
    const declared = [values, { ...values, id: 'second' }];
    expect(await declare(schedules, declared)).toEqual({ written: ['nightly', 'second'], foreign: [] });
    expect(await declare(schedules, declared)).toEqual({ written: [], foreign: [] });
    const [first] = declared;
    const changed = { ...values, rule: { ...rule, cron: '0 4 * * *' }, nextAt: null };
    expect(await declare(schedules, [changed, { ...values, id: 'mine' }])).toEqual({
      written: ['nightly'],
      foreign: ['mine'],
    });
    expect(await schedules.find('nightly')).toMatchObject({
      declared: true,
      rule: changed.rule,
      nextAt: first?.nextAt,
      revision: '2',
    });
    expect(await schedules.change({ ...changed, task: { ...task, topic: 'b' } }, '2')).toBe(false);
    expect(await schedules.find('mine')).toMatchObject({ declared: false, rule });
    const idsDue = async (...ids: string[]): Promise<readonly string[]> =>
      (await schedules.due(ids, 10)).due.map(({ id }) => id);
    expect(await idsDue()).toEqual(['mine']);
    expect(await idsDue('second', 'unknown')).toEqual(['mine', 'second']);
  });

  contract('a tick that was made between reading and declaring is not made again', async () => {
    const opened = await open();
    const { schedules } = opened.database;
    const values = await scheduleOf(schedules);
    await declare(schedules, [values]);
    const changed = { ...values, task: { ...task, topic: 'b' } };
    const { unwritten } = await schedules.compare([changed]);
    expect(unwritten).toMatchObject([{ id: 'nightly', revision: '1', lastAt: null }]);
    const due = await dueOf(schedules, ['nightly']);
    const move = await moveOf(schedules, due);
    await schedules.move([move]);
    const late = unwritten.map((one) => ({ ...one, nextAt: values.nextAt }));
    expect(await schedules.declare(late)).toEqual([]);
    expect((await schedules.due(['nightly'], 10)).due).toEqual([]);
    expect(await schedules.compare([changed])).toMatchObject({
      unwritten: [{ revision: '2', lastAt: new Date(due.dueMs) }],
    });
    const nextAt = new Date((move.nextMs ?? 0) + hourMs);
    expect(await declare(schedules, [{ ...changed, nextAt }])).toMatchObject({ written: ['nightly'] });
    expect(await schedules.find('nightly')).toMatchObject({ nextAt, task: changed.task, revision: '3' });
  });

  contract('of several that declare a schedule at the same time one writes it', async () => {
    const { schedules } = (await open()).database;
    const values = await scheduleOf(schedules);
    const all = async (one: ScheduleValues): Promise<readonly string[]> => {
      const { unwritten } = await schedules.compare([one]);
      const given = unwritten.map((found) => ({ ...found, nextAt: one.nextAt }));
      return (await Promise.all([1, 2, 3].map(() => schedules.declare(given)))).flat();
    };
    expect(await all(values)).toEqual(['nightly']);
    expect(await all({ ...values, task: { ...task, topic: 'b' } })).toEqual(['nightly']);
    expect(await schedules.find('nightly')).toMatchObject({ revision: '2', task: { topic: 'b' } });
  });

  contract('a schedule is announced while a worker that declares it runs', async () => {
    const { schedules, workers } = (await open()).database;
    const values = await scheduleOf(schedules);
    await declare(schedules, [values, { ...values, id: 'night"ly' }]);
    const announced = async (): Promise<readonly string[]> =>
      (await schedules.list()).flatMap((one) => (one.announced ? [one.id] : []));
    expect(await announced()).toEqual([]);
    const description = { host: 'test', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };
    const worker = await workers.register({ ...description, schedules: ['night"ly'] });
    expect(await announced()).toEqual(['night"ly']);
    await workers.retire(worker, 'stopped');
    expect(await announced()).toEqual([]);
  });

  contract('a move inserts its tasks and says when it is due next; a second one finds it moved', async () => {
    const opened = await open();
    const { schedules } = opened.database;
    await schedules.add(await scheduleOf(schedules));
    const due = await dueOf(schedules);
    const second = due.dueMs + hourMs / 2;
    const tasks = [occurrenceOf('nightly', due.dueMs), occurrenceOf('nightly', second)];
    const move = await moveOf(schedules, due, { tasks, missed: 3, lastMs: second });
    const answers = await Promise.all([schedules.move([move]), schedules.move([move])]);
    expect(answers.flat()).toEqual(['nightly']);
    expect(await schedules.move([move])).toEqual([]);
    expect(await tasksIn(opened)).toMatchObject([
      { topic: 'a', priority: 7, payload: task.payload, metadata: tasks[1]?.metadata, status: 'pending' },
      { topic: 'a', metadata: tasks[0]?.metadata },
    ]);
    expect(await schedules.find('nightly')).toMatchObject({
      nextAt: new Date(move.nextMs ?? 0),
      lastAt: new Date(second),
      missed: 3,
      revision: '2',
    });
    expect((await schedules.due([], 10)).due).toEqual([]);
  });

  contract('many move at once, those without tasks and without a next time as well', async () => {
    const opened = await open();
    const { schedules } = opened.database;
    const values = await scheduleOf(schedules);
    for (const id of ['a', 'b', 'c']) await schedules.add({ ...values, id });
    const { due } = await schedules.due([], 10);
    const moves = await Promise.all(due.map((one) => moveOf(schedules, one)));
    const none = { tasks: [], lastMs: undefined, missed: 1, nextMs: undefined };
    const [a, b, c] = moves as [ScheduleMove, ScheduleMove, ScheduleMove];
    expect(await schedules.move([a, { ...b, ...none }, { ...c, revision: '9' }])).toEqual(['a', 'b']);
    expect(await tasksIn(opened)).toMatchObject([{ metadata: { [scheduleKey]: 'a' } }]);
    expect(await schedules.find('b')).toMatchObject({ nextAt: null, lastAt: null, missed: 1 });
    expect(await schedules.find('c')).toMatchObject({ nextAt: values.nextAt, missed: 0 });
  });

  contract(
    'a schedule that is not due is brought to an earlier time once, and keeps its latest one',
    async () => {
      const opened = await open();
      const { schedules } = opened.database;
      await schedules.add(await scheduleOf(schedules));
      const due = await dueOf(schedules);
      await schedules.move([await moveOf(schedules, due, { nextMs: due.dueMs + 3 * hourMs })]);
      const earlier = {
        ...{ id: 'nightly', revision: '2', nextMs: due.dueMs + 2 * hourMs },
        ...{ missed: 0, tasks: [], lastMs: undefined },
      };
      const answers = await Promise.all([schedules.move([earlier]), schedules.move([earlier])]);
      expect(answers.flat()).toEqual(['nightly']);
      expect(await schedules.find('nightly')).toMatchObject({
        nextAt: new Date(due.dueMs + 2 * hourMs),
        lastAt: new Date(due.dueMs),
        missed: 0,
        revision: '3',
      });
      expect(await tasksIn(opened)).toHaveLength(1);
    },
  );

  contract('a task for later is scheduled', async () => {
    const opened = await open();
    const { schedules } = opened.database;
    await schedules.add(await scheduleOf(schedules));
    const due = await dueOf(schedules);
    const dueAt = new Date(Math.round(await schedules.clock()) + hourMs).toISOString();
    const tasks = [{ ...occurrenceOf('nightly', due.dueMs), dueAt }];
    await schedules.move([await moveOf(schedules, due, { tasks })]);
    expect(await tasksIn(opened)).toMatchObject([{ status: 'scheduled', dueAt: new Date(dueAt) }]);
  });
}

/** What every database promises of schedules whose tasks must not overlap. */
export function exerciseKeyedSchedules(open: OpenDatabase): void {
  contract('with a key there is no task while the one before lives, and one when it has ended', async () => {
    const { database } = await open();
    const { schedules } = database;
    await schedules.add(await scheduleOf(schedules, { rule: { ...rule, overlap: 'skip' } }));
    const unique = { key: 'schedule:nightly', stored: 'v:schedule:nightly', onConflict: 'return' } as const;
    const step = async (): Promise<void> => {
      const found = await schedules.find('nightly');
      const dueMs = (await schedules.clock()) - hourMs;
      const due = { id: 'nightly', rule, task, revision: found?.revision ?? '', dueMs };
      const tasks = [occurrenceOf('nightly', dueMs, unique)];
      const move = await moveOf(schedules, due, { tasks, lastMs: Math.round(dueMs) });
      expect(await schedules.move([move])).toEqual(['nightly']);
    };
    await step();
    const { lastAt } = (await schedules.find('nightly')) ?? {};
    expect(lastAt).toBeInstanceOf(Date);
    await step();
    expect(await schedules.find('nightly')).toMatchObject({ missed: 1, lastAt });
    const worker = await register(database);
    const claimed = await claimAll(worker);
    expect(claimed).toHaveLength(1);
    await step();
    expect(await schedules.find('nightly')).toMatchObject({ missed: 2, lastAt });
    await complete(worker, ...claimed);
    await step();
    expect(await schedules.find('nightly')).toMatchObject({ missed: 2 });
    expect(await claimAll(worker)).toHaveLength(1);
  });
}
