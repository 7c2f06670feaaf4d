import type { Schedule, ScheduleAdmin } from '../../admin/schedule-admin.js';
import type { RecurrenceInput, RecurringTask } from '../../client/schedule-input.js';
import type { Redaction } from '../../redaction/redaction.js';
import { nearest } from '../../values/nearest.js';
import { UsageError, type Command, type CommandCall, type CommandOption, type ExitCode } from '../command.js';
import { readPayload, readTaskOptions, readTime, taskOptions } from '../import/task-arguments.js';
import { textOption } from '../option-values.js';
import { readRedaction, redactOption } from '../show/redact-option.js';
import { scheduleWithoutSecrets } from '../show/task-view.js';

const ruleOptions: Readonly<Record<string, CommandOption>> = {
  cron: {
    type: 'string',
    value: '<expression>',
    description: 'five fields, or six with seconds: "0 3 * * *"',
  },
  every: { type: 'string', value: '<time>', description: 'instead of --cron: 90s, 5m, 2h, 1d' },
  timezone: { type: 'string', value: '<name>', description: 'the time zone of --cron. Default UTC' },
  missed: {
    type: 'string',
    value: '<skip|once|all>',
    choices: ['skip', 'once', 'all'],
    description: 'what to insert for missed times: nothing, one task (the default), or one for each',
  },
  overlap: {
    type: 'string',
    value: '<allow|skip>',
    choices: ['allow', 'skip'],
    description: 'skip: no task while the previous one is not finished. Default allow',
  },
  'starts-at': {
    type: 'string',
    value: '<time>',
    description: 'no task before this time: 2026-07-01T10:00:00Z',
  },
  'ends-at': { type: 'string', value: '<time>', description: 'no task after this time' },
  jitter: {
    type: 'string',
    value: '<time>',
    description: 'delays each task by a random time, up to this much',
  },
};

/** What its schedule decides about a task. */
const undecided = new Set(['delay', 'run-at', 'unique', 'unique-while', 'unique-window', 'on-conflict']);

const ownTaskOptions = Object.fromEntries(
  Object.entries(taskOptions).filter(([name]) => !undecided.has(name)),
);

/** `tarefa schedules`. */
export const schedulesCommand: Command = {
  name: 'schedules',
  summary: 'lists, adds, changes, removes, pauses and runs schedules of recurring tasks',
  words: ['list', 'add', 'change', 'remove', 'pause', 'resume', 'run'],
  usage: 'list | (add | change | remove | pause | resume | run) <id>',
  description: `One of the workers inserts the task of a schedule at each of its times, once. A schedule that @Recurring declares is
    changed in the code; here it can be paused and run, and removed once no running worker declares it any more.

    change takes the options to change; options of the task replace the whole task, so --topic must be among them. run inserts
    the task now, in addition to its times, and prints its id.`,
  options: { ...ruleOptions, ...ownTaskOptions, ...redactOption },
  examples: [
    'tarefa schedules list',
    'tarefa schedules add digest --cron "0 7 * * mon" --timezone Europe/Lisbon --topic send-digest',
    'tarefa schedules change digest --missed skip',
    'tarefa schedules pause digest',
    'tarefa schedules run digest',
  ],
  run: async (call): Promise<ExitCode> => {
    const [name = 'list', id, ...others] = call.positionals;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) {
      const near = nearest(name, Object.keys(actions));
      const hint =
        near === undefined ? `use one of ${Object.keys(actions).join(', ')}` : `did you mean ${near}?`;
      throw new UsageError(`unknown schedules command ${JSON.stringify(name)}: ${hint}`);
    }
    if ((id === undefined) !== (name === 'list') || others.length > 0) {
      throw new UsageError(`schedules ${name} takes ${name === 'list' ? 'no arguments' : 'an id'}`);
    }
    await action(call, id ?? '', readRedaction(call.options));
    return 0;
  },
};

type Action = (call: CommandCall, id: string, redaction: Redaction) => Promise<void>;

const actions: Readonly<Record<string, Action>> = {
  list: async (call, _, redaction) => {
    const schedules = await (await adminOf(call)).list();
    call.output.json({ schedules: schedules.map((one) => scheduleWithoutSecrets(one, redaction)) });
    if (schedules.length === 0) call.output.line('no schedules');
    showTable(call, schedules);
  },
  add: async (call, id, redaction) => {
    const rule = readRuleOptions(call);
    const task = await readTask(call);
    if (!task) throw new UsageError('schedules add requires a task: give --topic');
    const added = await (await adminOf(call)).add({ ...rule, id, task });
    show(call, added, 'added', redaction);
  },
  change: async (call, id, redaction) => {
    const rule = readRuleOptions(call);
    const task = await readTask(call);
    const changes = task ? { ...rule, task } : rule;
    if (Object.keys(changes).length === 0) {
      throw new UsageError('schedules change requires at least one option to change');
    }
    show(call, await (await adminOf(call)).change(id, changes), 'changed', redaction);
  },
  remove: async (call, id) => {
    await (await adminOf(call)).remove(id);
    call.output.json({ schedules: [] });
    call.output.line(`schedule ${id} removed`);
  },
  pause: async (call, id, redaction) =>
    show(call, await (await adminOf(call)).pause(id), 'paused', redaction),
  resume: async (call, id, redaction) =>
    show(call, await (await adminOf(call)).resume(id), 'resumed', redaction),
  run: async (call, id) => {
    const taskId = await (await adminOf(call)).run(id);
    call.output.json({ id: taskId });
    call.output.line(taskId);
  },
};

async function adminOf(call: CommandCall): Promise<ScheduleAdmin> {
  return (await call.queue()).admin.schedules;
}

/** What they may be is checked with the schedule. */
function readRuleOptions({ options }: CommandCall): RecurrenceInput {
  const text = (name: string): string | undefined => textOption(options, name);
  const given: Readonly<Record<keyof RecurrenceInput, unknown>> = {
    cron: text('cron'),
    every: readTime('every', text('every')),
    timezone: text('timezone'),
    missed: text('missed'),
    overlap: text('overlap'),
    startsAt: text('starts-at'),
    endsAt: text('ends-at'),
    jitter: readTime('jitter', text('jitter')),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Undefined without any option of a task. */
async function readTask(call: CommandCall): Promise<RecurringTask | undefined> {
  const given = Object.keys(ownTaskOptions).find((name) => call.options[name] !== undefined);
  if (given === undefined) return undefined;
  if (textOption(call.options, 'topic') === undefined) {
    throw new UsageError(`--${given} requires --topic <topic>`);
  }
  const task = readTaskOptions(call.options);
  const payload = await readPayload(call, (await call.queue()).options.maxPayloadBytes);
  return payload === undefined ? task : { ...task, payload };
}

function show(call: CommandCall, schedule: Schedule, what: string, redaction: Redaction): void {
  call.output.json({ schedules: [scheduleWithoutSecrets(schedule, redaction)] });
  call.output.line(`schedule ${schedule.id} ${what}`);
}

function showTable({ output }: CommandCall, schedules: readonly Schedule[]): void {
  output.table(
    ['id', 'recurs', 'topic', 'status', 'next', 'last', 'missed'],
    schedules.map(({ id, rule, task, status, nextAt, lastAt, missed }) => [
      id,
      rule.cron === null ? `every ${periodText(rule.every ?? 0)}` : `${rule.cron} ${rule.timezone}`,
      task.topic,
      statusTexts[status],
      status === 'active' ? nextAt : null,
      lastAt,
      missed,
    ]),
  );
}

/** In the largest unit of which it is a whole number: `5m`. */
function periodText(ms: number): string {
  const [unit, each] = units.find(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / each}${unit}`;
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

const statusTexts: Readonly<Record<Schedule['status'], string>> = {
  active: 'active',
  paused: 'paused',
  undeclared: 'no longer declared',
  ended: 'ended',
};
