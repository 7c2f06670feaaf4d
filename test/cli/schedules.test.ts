import { expect, test } from 'vitest';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';

const bench = useQueue('tasks_schedule');
const cli = useCli(bench);

interface Answer {
  readonly schedules: readonly { readonly id: string; readonly [field: string]: unknown }[];
}

const schedules = (...args: string[]) => cli.run(['schedules', ...args]);

test('schedules are added, listed, changed, paused, run and removed', async () => {
  await bench.start({ worker: false });
  expect((await schedules()).stdout).toBe('no schedules\n');
  const rule = [
    '--cron',
    '0 7 * * mon',
    '--timezone',
    'Europe/Lisbon',
    '--starts-at',
    '2030-01-01T00:00:00Z',
  ];
  const task = [
    '--topic',
    'send-digest',
    '--payload',
    '{"to":"ana"}',
    '--priority',
    '3',
    '--max-attempts',
    '2',
  ];
  expect(await schedules('add', 'digest', ...rule, ...task)).toMatchObject({
    code: 0,
    stdout: 'schedule digest added\n',
  });
  await schedules('add', 'sync', '--every', '5m', '--jitter', '10s', '--missed', 'all', '--topic', 'sync');
  const { schedules: listed } = await cli.json<Answer>(['schedules', 'list']);
  expect(listed).toMatchObject([
    {
      id: 'digest',
      rule: { cron: '0 7 * * mon', timezone: 'Europe/Lisbon' },
      task: {
        topic: 'send-digest',
        payload: '{"to":"ana"}',
        priority: 3,
        metadata: { 'tarefa:maxAttempts': 2 },
      },
      nextAt: '2030-01-07T07:00:00.000Z',
    },
    { id: 'sync', rule: { every: 300_000, jitter: 10_000, missed: 'all' } },
  ]);
  expect((await schedules('list', '--utc')).stdout).toMatch(
    /^id +recurs +topic +status +next +last +missed\ndigest +0 7 \* \* mon Europe\/Lisbon +send-digest +active +2030-01-07T07:00:00.000Z +0\nsync +every 5m +sync +active +\S+ +0\n$/,
  );
  expect((await schedules('change', 'sync', '--overlap', 'skip')).stdout).toBe('schedule sync changed\n');
  expect(await cli.json(['schedules', 'pause', 'sync'])).toMatchObject({
    schedules: [
      { id: 'sync', status: 'paused', rule: { overlap: 'skip', every: 300_000 }, task: { topic: 'sync' } },
    ],
  });
  expect((await schedules('resume', 'sync')).stdout).toBe('schedule sync resumed\n');
  expect(await cli.json(['schedules', 'change', 'sync', '--topic', 'other'])).toMatchObject({
    schedules: [{ task: { topic: 'other' }, status: 'active' }],
  });
  const id = (await schedules('run', 'digest')).stdout.trim();
  expect(await bench.row(id)).toMatchObject({
    processo: 'send-digest',
    payload: '{"to":"ana"}',
    status: 'pendente',
  });
  expect((await schedules('remove', 'digest')).stdout).toBe('schedule digest removed\n');
  expect((await cli.json<Answer>(['schedules'])).schedules.map((one) => one.id)).toEqual(['sync']);
});

test('of the task of a schedule what the dashboard hides is not shown', async () => {
  await bench.start({ worker: false });
  const payload = '{"n":1970670598291982290,"token":"s3cret","cpf":"123-45"}';
  const task = ['--topic', 'pay', '--payload', payload, '--metadata', '{"apiKey":"s3cret"}'];
  const shown = (answer: Answer): unknown => answer.schedules.map((one) => one['task']);
  const hidden = {
    payload: '{"n":1970670598291982290,"token":"[redacted]","cpf":"[redacted]"}',
    metadata: { apiKey: '[redacted]' },
  };
  for (const args of [
    ['add', 'pay', '--every', '1h', ...task],
    ['change', 'pay', '--missed', 'skip'],
    ['pause', 'pay'],
    ['resume', 'pay'],
    ['list'],
  ]) {
    const answer = await cli.json<Answer>(['schedules', ...args, '--redact', 'cpf']);
    expect([args[0], shown(answer)]).toMatchObject([args[0], [hidden]]);
  }
  // What it inserts is whole.
  const id = (await schedules('run', 'pay')).stdout.trim();
  expect(await bench.row(id)).toMatchObject({ payload });
  expect(await schedules('remove', 'pay', '--redact', 'a..b')).toMatchObject({ code: 1 });
  expect((await cli.json<Answer>(['schedules'])).schedules).toHaveLength(1);
});

test('what is wrong is said, and nothing is done', async () => {
  await bench.start({ worker: false });
  for (const [args, code, problem] of [
    [['ad'], 1, /unknown schedules command "ad": did you mean add\?/],
    [['pause'], 1, /schedules pause takes an id/],
    [['list', 'x'], 1, /schedules list takes no arguments/],
    [['add', 'a', '--every', '1h'], 1, /add requires a task: give --topic/],
    [['add', 'a', '--every', '1h', '--priority', '3'], 1, /--priority requires --topic/],
    [['add', 'a', '--every', 'hourly', '--topic', 'a'], 1, /--every must be a time such as 500ms/],
    [
      ['add', 'a', '--cron', '0 25 * * *', '--topic', 'a'],
      1,
      /cron has "25" as its hour, which goes from 0 to 23/,
    ],
    [['add', 'a', '--topic', 'a', '--delay', '5m'], 1, /--delay/],
    [['change', 'a'], 1, /change requires at least one option/],
    [['run', 'nobody'], 2, /schedule "nobody" not found/],
  ] as const) {
    const { code: found, stderr } = await schedules(...args);
    expect([found, stderr]).toEqual([code, expect.stringMatching(problem)]);
  }
  expect((await schedules('list')).stdout).toBe('no schedules\n');
});
