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
  summary: 'deletes tasks that are not running, with all their attempts and dead tasks',
  usage: '<id...> | --all [filters]',
  description: `A deleted task does not run any more, disappears from the history and cannot be restored: you are asked to confirm, or
    give --yes. A task is refused while it or its dead task is running. Deliveries of a publication are tasks of their own and
    stay. Old history is deleted automatically, and immediately by \`tarefa purge\`.

    With --all: every task that is not running and matches the filters; dead tasks only with --dead. They are counted first;
    tasks that are inserted after the count are not included. They are deleted in blocks of 500, each committed on its own;
    Ctrl-C stops after the current block.

    Exit code 2 when no task could be deleted; 3 when some could not, or when Ctrl-C interrupted it.`,
  options: { ...bulkOptions('deletable'), ...statusOption, ...interopOption },
  examples: ['tarefa delete 17 --yes', 'tarefa delete --all --topic try-out --status succeeded --dry-run'],
  run: (call) => (meansAll(call) ? doAll(call, 'delete', words) : deleteSome(call)),
};

const words: BulkWords = {
  verb: 'Delete',
  doing: 'deleting',
  meant: 'deletable',
  done: 'deleted',
};

async function deleteSome(call: CommandCall): Promise<ExitCode> {
  const ids = readIds(call);
  const { admin } = await call.queue();
  const [one = ''] = ids;
  const what =
    ids.length === 1
      ? `task ${await taskNumber(admin, one)} with its whole history`
      : `${ids.length} tasks with their whole history`;
  if (!(await confirm(call, `Delete ${what}?`))) {
    call.output.line('nothing was deleted');
    return 0;
  }
  return forEachTask(call, ids, async (id) => {
    const attempts = await admin.delete(id);
    const rows = attempts === 1 ? 'its attempt' : `its ${readableCount(attempts)} attempts`;
    return { fields: { attempts }, line: `task ${id} deleted with ${rows}` };
  });
}
