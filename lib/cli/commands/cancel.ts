import { bulkOptions, doAll, meansAll, type BulkWords } from '../bulk-tasks.js';
import { cancelOptions, cancelOptionsOf, reasonOption } from '../cancel-options.js';
import type { Command, ExitCode } from '../command.js';
import { interopOption } from '../common-options.js';
import { statusOption } from '../filter-options.js';
import { textOption } from '../option-values.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa cancel`. */
export const cancelCommand: Command = {
  name: 'cancel',
  summary: 'ends tasks that wait, without a dead task, and asks those that run to stop',
  usage: '<id...> | --all [filters]',
  description: `A task that is cancelled has not failed: \`retry --all\` leaves it out, and by its id it can be retried. One that
    runs is asked to stop: it ends cancelled, unless it succeeds anyway. One that has ended is refused.

    With --all: every task that waits (scheduled, retrying or pending) and that the filters choose, dead tasks only with
    --dead. They are counted first; on a terminal you are asked, elsewhere --yes is needed. What starts or is inserted after
    the count is not meant. They are cancelled in blocks of 500 that commit alone; Ctrl-C ends it after a block.

    Exit code 2 when no task could be cancelled, 3 when some could not, or Ctrl-C came first.`,
  options: { ...bulkOptions('waiting'), ...statusOption, ...interopOption, ...cancelOptions },
  examples: [
    'tarefa cancel 17 18 --reason "ordered by mistake"',
    'tarefa cancel --all --topic send-mail --status retrying --dry-run',
  ],
  run: async (call): Promise<ExitCode> => {
    if (meansAll(call)) return doAll(call, 'cancel', words);
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      const { stopping } = await admin.cancel(id, cancelOptionsOf(call));
      const stops = stopping.length > 0;
      return { fields: { stopping: stops }, line: `task ${id} is ${stops ? 'asked to stop' : 'cancelled'}` };
    });
  },
};

const words: BulkWords = {
  verb: 'Cancel',
  doing: 'cancelling',
  meant: 'waiting',
  done: 'cancelled',
  outcome: 'are cancelled',
};

/** `tarefa bury`. */
export const buryCommand: Command = {
  name: 'bury',
  summary: 'ends tasks that wait as if they had run out of attempts: their dead tasks start at once',
  usage: '<id...>',
  description:
    'One that runs, has ended, or is a dead task itself is refused. Exit code 2 when none could be buried, 3 when some could.',
  options: { ...interopOption, ...reasonOption },
  examples: ['tarefa bury 17 --reason "the customer is gone"'],
  run: async (call): Promise<ExitCode> => {
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      const deadId = await admin.bury(id, textOption(call.options, 'reason'));
      return { fields: { deadId }, line: `task ${id} is buried: its dead task is ${deadId}` };
    });
  },
};
