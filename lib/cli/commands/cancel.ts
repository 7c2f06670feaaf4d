import type { Command, CommandCall, CommandOption, ExitCode } from '../command.js';
import { textOption } from '../option-values.js';
import { forEachTask, readIds } from '../task-ids.js';

const options: Readonly<Record<string, CommandOption>> = {
  reason: { type: 'string', value: '<text>', description: "recorded as the task's message" },
};

/** `tarefa cancel`. */
export const cancelCommand: Command = {
  name: 'cancel',
  summary: 'ends tasks that wait for their first or next attempt, without a dead task',
  usage: '<id...>',
  description:
    'A task that is cancelled counts as failed. One that runs, or has ended, is refused. Exit code 2 when none could be ' +
    'cancelled, 3 when some could.',
  options,
  examples: ['tarefa cancel 17 18 --reason "ordered by mistake"'],
  run: async (call): Promise<ExitCode> => {
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      await admin.cancel(id, reasonOf(call));
      return { line: `task ${id} is cancelled` };
    });
  },
};

/** `tarefa bury`. */
export const buryCommand: Command = {
  name: 'bury',
  summary: 'ends tasks that wait as if they had run out of attempts: their dead tasks start at once',
  usage: '<id...>',
  description:
    'One that runs, has ended, or is a dead task itself is refused. Exit code 2 when none could be buried, 3 when some could.',
  options,
  examples: ['tarefa bury 17 --reason "the customer is gone"'],
  run: async (call): Promise<ExitCode> => {
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      const deadId = await admin.bury(id, reasonOf(call));
      return { fields: { deadId }, line: `task ${id} is buried: its dead task is ${deadId}` };
    });
  },
};

function reasonOf({ options: given }: CommandCall): string | undefined {
  return textOption(given, 'reason');
}
