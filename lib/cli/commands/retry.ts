import { bulkOptions, doAll, meansAll, type BulkWords } from '../bulk-tasks.js';
import type { Command, CommandCall, ExitCode } from '../command.js';
import { statusOption } from '../filter-options.js';
import { listOption } from '../option-values.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa retry`. */
export const retryCommand: Command = {
  name: 'retry',
  summary: 'starts failed or cancelled tasks again, with all their attempts before them',
  usage: '<id...> | --all [filters]',
  description: `A task keeps its key, its payload and its history. One that has neither failed nor was cancelled is refused. A
    task that ran out of attempts also has a dead task, which has an id of its own and is retried by that.

    With --all: every failed task that the filters choose, dead tasks only with --dead, and cancelled ones only with --status
    cancelled. They are counted first; on a
    terminal you are asked, elsewhere --yes is needed. What fails later than the count is not meant, and what somebody else
    changes meanwhile is left out. They are started in blocks of 500 that commit alone; Ctrl-C ends it after a block.

    Exit code 2 when no task could be retried, 3 when some could not, or Ctrl-C came first.`,
  options: { ...bulkOptions('failed'), ...statusOption },
  examples: [
    'tarefa retry 17',
    'tarefa retry --all --topic send-receipt --since 24h --dry-run',
    'tarefa retry --all --status cancelled --topic send-mail',
  ],
  run: (call) => (meansAll(call) ? doAll(call, 'retry', wordsFor(call)) : retrySome(call)),
};

function wordsFor({ options }: CommandCall): BulkWords {
  const statuses = listOption(options, 'status');
  return {
    verb: 'Retry',
    doing: 'retrying',
    meant: statuses.length === 0 ? 'failed' : statuses.join(' or '),
    field: 'failed',
    done: 'retried',
    outcome: 'start again',
  };
}

async function retrySome(call: CommandCall): Promise<ExitCode> {
  const ids = readIds(call);
  const { admin } = await call.queue();
  return forEachTask(call, ids, async (id) => {
    const attemptId = await admin.retry(id);
    return { fields: { attemptId }, line: `task ${id} starts again: its next attempt is ${attemptId}` };
  });
}
