import { bulkOptions, doAll, meansAll, type BulkWords } from '../bulk-tasks.js';
import type { Command, CommandCall, ExitCode } from '../command.js';
import { interopOption } from '../common-options.js';
import { confirm } from '../confirm.js';
import { statusOption } from '../filter-options.js';
import { readableCount } from '../output/readable.js';
import { forEachTask, readIds, taskNumber } from '../task-ids.js';

/** `tarefa delete`. */
export const deleteCommand: Command = {
  name: 'delete',
  summary: 'deletes tasks that do not run, with all their attempts and dead tasks',
  usage: '<id...> | --all [filters]',
  description: `What is deleted is not done any more, is gone from the history, and cannot be brought back: you are asked, or give
    --yes. A task that runs, or whose dead task does, is refused. Deliveries of a publication are tasks of their own and stay.
    Old history is deleted automatically, and at once by \`tarefa purge\`.

    With --all: every task that does not run and that the filters choose, dead tasks only with --dead. They are counted first.
    What comes after the count is not meant. They are deleted in blocks of 500 that commit alone; Ctrl-C ends it after a block.

    Exit code 2 when no task could be deleted, 3 when some could not, or Ctrl-C came first.`,
  options: { ...bulkOptions('deletable'), ...statusOption, ...interopOption },
  examples: ['tarefa delete 17 --yes', 'tarefa delete --all --topic try-out --status succeeded --dry-run'],
  run: (call) => (meansAll(call) ? doAll(call, 'delete', words) : deleteSome(call)),
};

const words: BulkWords = {
  verb: 'Delete',
  doing: 'deleting',
  meant: 'deletable',
  done: 'deleted',
  outcome: 'are deleted',
};

async function deleteSome(call: CommandCall): Promise<ExitCode> {
  const ids = readIds(call);
  const { admin } = await call.queue();
  const [one = ''] = ids;
  const what = ids.length === 1 ? `task ${await taskNumber(admin, one)}` : `${ids.length} tasks`;
  if (!(await confirm(call, `Delete ${what} with everything that is known of it?`))) {
    call.output.line('nothing was deleted');
    return 0;
  }
  return forEachTask(call, ids, async (id) => {
    const attempts = await admin.delete(id);
    const rows = attempts === 1 ? 'its attempt' : `its ${readableCount(attempts)} attempts`;
    return { fields: { attempts }, line: `task ${id} is deleted, with ${rows}` };
  });
}
