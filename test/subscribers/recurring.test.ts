import { Injectable, type Provider } from '@nestjs/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { QueueAdmin, Recurring, TaskHandler, type RecurringOptions } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue('tasks_schedule');

const nightly = { cron: '0 3 * * *' } as const;

function handlersWith(id: string, options: unknown): Provider {
  @Injectable()
  class Handlers {
    @TaskHandler('close-day', { schema: z.object({ day: z.string() }).nullish() })
    @Recurring(id, options as RecurringOptions)
    closeDay(): void {}
  }
  return Handlers;
}

test('schedules of a method are written at start, and again only where they differ', async () => {
  const notices: string[] = [];
  const logger = { log: (line: unknown) => void notices.push(JSON.stringify(line)), error() {}, warn() {} };
  @Injectable()
  class Handlers {
    @TaskHandler('close-day')
    @Recurring('nightly', { ...nightly, timezone: 'America/Sao_Paulo', task: { payload: { full: true } } })
    @Recurring('noon', { cron: '0 12 * * *', missed: 'skip' })
    closeDay(): void {}
  }
  const first = await bench.start({ handlers: [Handlers], logger });
  const admin = first.app.get(QueueAdmin);
  expect(await admin.schedules.list()).toMatchObject([
    {
      id: 'nightly',
      declared: true,
      status: 'active',
      rule: { cron: '0 3 * * *', timezone: 'America/Sao_Paulo', missed: 'once', overlap: 'allow', jitter: 0 },
      task: { topic: 'close-day', payload: '{"full":true}' },
      lastAt: null,
      missed: 0,
    },
    { id: 'noon', rule: { missed: 'skip', timezone: 'UTC' }, task: { payload: null } },
  ]);
  const isScheduled = (line: string): boolean => line.includes('scheduled ');
  expect(notices.filter(isScheduled)).toEqual([expect.stringContaining(`scheduled 'nightly', 'noon'`)]);
  await bench.start({ handlers: [Handlers], logger });
  await bench.start({ handlers: [handlersWith('noon', nightly)], logger });
  expect(notices.filter(isScheduled).slice(1)).toEqual([expect.stringContaining(`scheduled 'noon'`)]);
});

test('a paused schedule stays paused over starts, also when its code has changed', async () => {
  const { app, close } = await bench.start({ handlers: [handlersWith('nightly', nightly)] });
  await app.get(QueueAdmin).schedules.pause('nightly');
  await close();
  const changed = await bench.start({ handlers: [handlersWith('nightly', { cron: '0 4 * * *' })] });
  expect(await changed.app.get(QueueAdmin).schedules.find('nightly')).toMatchObject({
    status: 'paused',
    rule: { cron: '0 4 * * *' },
  });
});

test.each<readonly [string, unknown, string, string]>([
  ['no rule', {}, 'INPUT_INVALID', 'a schedule must have either cron or every'],
  ['two rules', { ...nightly, every: 1_000 }, 'INPUT_INVALID', 'either cron or every'],
  ['a wrong cron', { cron: '0 25 * * *' }, 'INPUT_INVALID', 'cron has "25" as its hour'],
  ['a day that never comes', { cron: '0 0 31 2 *' }, 'INPUT_INVALID', 'a day that no month has'],
  [
    'a wrong zone',
    { ...nightly, timezone: 'Lisbon' },
    'INPUT_INVALID',
    'timezone must be a time zone of the IANA',
  ],
  [
    'a zone without clocks',
    { every: 60_000, timezone: 'UTC' },
    'INPUT_INVALID',
    'timezone only applies to cron',
  ],
  ['a period in words', { every: '1h' }, 'INPUT_INVALID', 'every must be a whole number of milliseconds'],
  ['a field that is misspelt', { ...nightly, overlaps: 'skip' }, 'INPUT_INVALID', `did you mean 'overlap'?`],
  [
    'a word of another',
    { ...nightly, missed: 'allow' },
    'INPUT_INVALID',
    `must be 'skip' or 'once' or 'all'`,
  ],
  [
    'an end before its start',
    { ...nightly, startsAt: '2027-01-01T00:00Z', endsAt: '2026-01-01T00:00Z' },
    'INPUT_INVALID',
    'endsAt',
  ],
  ['a time without zone', { ...nightly, startsAt: '2027-01-01T00:00' }, 'INPUT_INVALID', 'startsAt must be'],
  [
    'a time of its own',
    { ...nightly, task: { delayMs: 5 } },
    'INPUT_INVALID',
    'task.delayMs must be left out',
  ],
  ['BullMQ’s word for cron', { pattern: '0 3 * * *' }, 'INPUT_INVALID', `did you mean 'cron'?`],
  ['a payload beside the task', { ...nightly, payload: {} }, 'INPUT_INVALID', 'as in task: { payload }'],
  ['an unknown field of the task', { ...nightly, task: { data: 5 } }, 'INPUT_INVALID', `no field 'data'`],
  [
    'a payload that its schema refuses',
    { ...nightly, task: { payload: { day: 5 } } },
    'PAYLOAD_INVALID',
    'day',
  ],
])('%s refuses the start, with the name of the method', async (_, options, code, text) => {
  const starting = bench.start({ handlers: [handlersWith('nightly', options)] });
  await expect(starting).rejects.toMatchObject({
    code,
    message: expect.stringMatching(/^@Recurring\('nightly'\) on Handlers\.closeDay: /) as unknown,
  });
  await expect(starting).rejects.toThrow(text);
});

test.each<readonly [what: string, given: readonly unknown[]]>([
  ['options without an id', [nightly]],
  ['an id without options', ['nightly']],
  ['nothing', []],
])('a decorator with %s is refused where it stands', (_, given) => {
  const decorate = Recurring as (...given: readonly unknown[]) => MethodDecorator;
  expect(() => {
    class Handlers {
      @TaskHandler('close-day')
      @decorate(...given)
      closeDay(): void {}
    }
    return Handlers;
  }).toThrow(
    "@Recurring on Handlers.closeDay needs an id and a time, as in @Recurring('nightly', { cron: '0 3 * * *' })",
  );
});

test('a schedule needs an id of its own and one handler to insert for', async () => {
  @Injectable()
  class Twice {
    @TaskHandler('a')
    @Recurring('nightly', nightly)
    a(): void {}
    @TaskHandler('b')
    @Recurring('nightly', nightly)
    b(): void {}
  }
  @Injectable()
  class Without {
    @Recurring('nightly', nightly)
    a(): void {}
  }
  @Injectable()
  class EveryTopic {
    @TaskHandler()
    @Recurring('nightly', nightly)
    a(): void {}
  }
  @Injectable()
  class Elsewhere {
    @TaskHandler('a')
    @Recurring('nightly', { ...nightly, queue: 'other' })
    a(): void {}
  }
  for (const [handlers, text] of [
    [Twice, 'has the same id as the one on Twice.a'],
    [Without, 'needs exactly one @TaskHandler'],
    [EveryTopic, 'needs exactly one @TaskHandler with a topic'],
    [Elsewhere, `is for the queue 'other'`],
  ] as const) {
    const starting = bench.start({ handlers: [handlers] });
    await expect(starting).rejects.toMatchObject({ code: 'HANDLER_INVALID' });
    await expect(starting).rejects.toThrow(text);
  }
  const { app } = await bench.start({ worker: false });
  await app.get(QueueAdmin).schedules.add({ id: 'nightly', ...nightly, task: { topic: 'a' } });
  await expect(bench.start({ handlers: [handlersWith('nightly', nightly)] })).rejects.toThrow(
    'has the id of a schedule that was added by hand',
  );
});

test('a row that is deleted under a running application comes back', async () => {
  const { app } = await bench.start({ handlers: [handlersWith('nightly', nightly)], pollIntervalMs: 50 });
  const { schedules } = app.get(QueueAdmin);
  await bench.pool.query('delete from tasks_schedule; delete from tasks_worker');
  const again = await until(async () => schedules.find('nightly'), 'it is written again');
  expect(again).toMatchObject({ declared: true, rule: nightly });
});

test('a decorator that has lost its method is told', async () => {
  const warnings: string[] = [];
  const logger = { log() {}, error() {}, warn: (line: unknown) => void warnings.push(JSON.stringify(line)) };
  const wrapped = (_: object, __: string, descriptor: PropertyDescriptor): PropertyDescriptor => ({
    ...descriptor,
    value: () => undefined,
  });
  @Injectable()
  class Wrapped {
    @TaskHandler('a')
    @wrapped
    @Recurring('nightly', nightly)
    a(): void {}
  }
  const { app } = await bench.start({ handlers: [Wrapped], logger });
  expect(await app.get(QueueAdmin).schedules.list()).toEqual([]);
  expect(warnings.join('\n')).toContain(`@Recurring('nightly') on Wrapped.a has no effect`);
});
