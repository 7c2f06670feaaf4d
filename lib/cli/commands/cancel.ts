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
  summary: 'cancels waiting tasks, without a dead task, and asks running tasks to stop',
  usage: '<id...> | --all [filters]',
  description: `A cancelled task has not failed: \`retry --all\` skips it, but it can be retried by its id. A running task is asked to
    stop: it ends as cancelled, unless it succeeds anyway. A finished task is refused.

    With --all: every waiting task (scheduled, retrying or pending) that matches the filters; dead tasks only with --dead.
    They are counted first; on a terminal you are asked to confirm, elsewhere --yes is required. Tasks that start or are
    inserted after the count are not included. They are cancelled in blocks of 500, each committed on its own; Ctrl-C stops
    after the current block.

    Exit code 2 when no task could be cancelled; 3 when some could not, or when Ctrl-C interrupted it.`,
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
      return { fields: { stopping: stops }, line: `task ${id} ${stops ? 'was asked to stop' : 'cancelled'}` };
    });
  },
};

const words: BulkWords = {
  verb: 'Cancel',
  doing: 'cancelling',
  meant: 'waiting',
  done: 'cancelled',
};

/** `tarefa bury`. */
export const buryCommand: Command = {
  name: 'bury',
  summary: 'ends waiting tasks as if they had run out of attempts: their dead tasks start at once',
  usage: '<id...>',
  description:
    'A task that is running, finished or itself a dead task is refused. Exit code 2 when no task could be buried, 3 when only some could.',
  options: { ...interopOption, ...reasonOption },
  examples: ['tarefa bury 17 --reason "the customer is gone"'],
  run: async (call): Promise<ExitCode> => {
    const ids = readIds(call);
    const { admin } = await call.queue();
    return forEachTask(call, ids, async (id) => {
      const deadId = await admin.bury(id, textOption(call.options, 'reason'));
      return { fields: { deadId }, line: `task ${id} buried: its dead task is ${deadId}` };
    });
  },
};
