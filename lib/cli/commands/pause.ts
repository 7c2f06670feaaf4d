import type { Pausable, Pause } from '../../admin/pauses.js';
import { UsageError, type Command, type CommandCall, type CommandOption, type ExitCode } from '../command.js';
import { textOption } from '../option-values.js';

const options: Readonly<Record<string, CommandOption>> = {
  topic: { type: 'string', value: '<topic>', description: 'tasks of this topic' },
  subscription: { type: 'string', value: '<id>', description: 'deliveries of this subscription' },
};

/** `tarefa pause`. */
export const pauseCommand: Command = {
  name: 'pause',
  summary: 'keeps workers from starting tasks of a topic or subscription, or lists what is paused',
  usage: '[--topic <topic> | --subscription <id>]',
  description:
    'Running tasks continue, and inserts are accepted. Workers are notified at once; workers that cannot listen notice at ' +
    'their next poll. A pause survives restarts. Without an option, lists what is paused and since when.',
  options,
  examples: ['tarefa pause --topic send-receipt', 'tarefa pause --subscription search-index', 'tarefa pause'],
  run: (call) => steer(call, 'pause'),
};

/** `tarefa resume`. */
export const resumeCommand: Command = {
  name: 'resume',
  summary: 'ends a pause, or lists what is paused',
  usage: '[--topic <topic> | --subscription <id>]',
  description:
    'Workers start these tasks again at once. Without an option, lists what is paused and since when.',
  options,
  examples: ['tarefa resume --topic send-receipt'],
  run: (call) => steer(call, 'resume'),
};

async function steer(call: CommandCall, verb: 'pause' | 'resume'): Promise<ExitCode> {
  const { output, positionals } = call;
  const what = readPausable(call);
  if (positionals[0] !== undefined) {
    throw new UsageError(
      `unexpected argument ${JSON.stringify(positionals[0])}: put --topic or --subscription before it`,
    );
  }
  const { admin } = await call.queue();
  if (what) {
    await admin[verb](what);
    output.line(`${describe(what)} ${verb}d`);
  }
  list(call, await admin.paused(), what === undefined);
  return 0;
}

function list({ output }: CommandCall, paused: readonly Pause[], isAsked: boolean): void {
  output.json({ paused });
  if (!isAsked) return;
  if (paused.length === 0) output.line('nothing is paused');
  output.table(
    ['paused', 'since'],
    paused.map((pause) => [describe(pause), pause.since]),
  );
}

function readPausable({ options: given }: CommandCall): Pausable | undefined {
  const topic = textOption(given, 'topic');
  const subscriptionId = textOption(given, 'subscription');
  if (topic !== undefined && subscriptionId !== undefined) {
    throw new UsageError('give --topic or --subscription, not both');
  }
  if (subscriptionId !== undefined) return { subscriptionId };
  return topic === undefined ? undefined : { topic: topic === '' ? null : topic };
}

function describe(what: Pausable): string {
  if ('subscriptionId' in what) return `subscription ${what.subscriptionId}`;
  return what.topic === null ? 'tasks without a topic' : `topic ${what.topic}`;
}
