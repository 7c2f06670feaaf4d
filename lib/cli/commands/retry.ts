import { bulkOptions, doAll, meansAll, type BulkWords } from '../bulk-tasks.js';
import type { Command, CommandCall, ExitCode } from '../command.js';
import { statusOption } from '../filter-options.js';
import { listOption } from '../option-values.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa retry`. */
export const retryCommand: Command = {
  name: 'retry',
  summary: 'retries failed or cancelled tasks, each with its full number of attempts',
  usage: '<id...> | --all [filters]',
  description: `A task keeps its key, its payload and its history. A task that neither failed nor was cancelled is refused. A task
    that ran out of attempts also has a dead task, which has an id of its own and is retried by that id.

    With --all: every failed task that matches the filters; dead tasks only with --dead, cancelled tasks only with --status
    cancelled. They are counted first; on a terminal you are asked to confirm, elsewhere --yes is required. Tasks that fail
    after the count are not included, and tasks that somebody else changes in the meantime are skipped. They are retried in
    blocks of 500, each committed on its own; Ctrl-C stops after the current block.

    Exit code 2 when no task could be retried; 3 when some could not, or when Ctrl-C interrupted it.`,
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
  };
}

async function retrySome(call: CommandCall): Promise<ExitCode> {
  const ids = readIds(call);
  const { admin } = await call.queue();
  return forEachTask(call, ids, async (id) => {
    const attemptId = await admin.retry(id);
    return { fields: { attemptId }, line: `task ${id} retried: its next attempt is ${attemptId}` };
  });
}
