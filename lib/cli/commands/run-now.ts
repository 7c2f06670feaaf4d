import type { Command, ExitCode } from '../command.js';
import { interopOption } from '../common-options.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa run-now`. */
export const runNowCommand: Command = {
  name: 'run-now',
  summary: 'makes tasks due now that are scheduled for later, or wait for their next attempt',
  usage: '<id...>',
  description:
    'The number of the attempt stays. One that is due already, runs, or has ended is refused. Exit code 2 when none could be ' +
    'made due, 3 when some could.',
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
