import type { Command, ExitCode } from '../command.js';
import { interopOption } from '../common-options.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa run-now`. */
export const runNowCommand: Command = {
  name: 'run-now',
  summary: 'makes tasks due now that are scheduled for later or waiting for their next attempt',
  usage: '<id...>',
  description:
    'The number of the attempt does not change. A task that is already due, running or finished is refused. Exit code 2 when ' +
    'no task could be made due, 3 when only some could.',
  options: interopOption,
  examples: ['tarefa run-now 17 18'],
  run: async (call): Promise<ExitCode> => {
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      await admin.runNow(id);
      return { line: `task ${id} is due now` };
    });
  },
};
