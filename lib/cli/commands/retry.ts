import { BulkRetry, type RetryPlan } from '../../admin/bulk-retry.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { confirm, yesOption } from '../confirm.js';
import { filterOptions, readFilter } from '../filter-options.js';
import { flagOption } from '../option-values.js';
import { readableCount } from '../output/readable.js';
import { forEachTask, readIds } from '../task-ids.js';

/** `tarefa retry`. */
export const retryCommand: Command = {
  name: 'retry',
  summary: 'starts failed tasks anew, with all their attempts before them',
  usage: '<id...> | --all [filters]',
  description: `A task keeps its key, its payload and its history. One that has not failed is refused. A task that ran out of
    attempts has a dead task besides, which has an id of its own and is retried by that.

    With --all: every failed task that the filters choose, dead tasks only with --dead. They are counted first; on a
    terminal you are asked, elsewhere --yes is needed. What fails later than the count is not meant, and what somebody else
    changes meanwhile is left out. They are started in blocks of 500 that commit alone; Ctrl-C ends it after a block.

    Exit code 2 when no task could be retried, 3 when some could not, or Ctrl-C came first.`,
  options: {
    all: { type: 'boolean', description: 'every failed task that the filters choose' },
    ...filterOptions,
    'dry-run': { type: 'boolean', description: 'with --all: counts, and changes nothing' },
    ...yesOption,
  },
  examples: ['tarefa retry 17', 'tarefa retry --all --topic send-receipt --since 24h --dry-run'],
  run: (call) => (flagOption(call.options, 'all') ? retryAll(call) : retrySome(call)),
};

async function retrySome(call: CommandCall): Promise<ExitCode> {
  const stray = Object.keys(call.options).find((name) => name in filterOptions || name === 'dry-run');
  if (stray !== undefined) throw new UsageError(`--${stray} goes with --all`);
  const ids = readIds(call);
  const { admin } = await call.queue();
  return forEachTask(call, ids, async (id) => {
    const attemptId = await admin.retry(id);
    return { fields: { attemptId }, line: `task ${id} starts anew: its next attempt is ${attemptId}` };
  });
}

async function retryAll(call: CommandCall): Promise<ExitCode> {
  const { options, output, positionals } = call;
  if (positionals.length > 0) throw new UsageError('give ids or --all, not both');
  const { pool, tables } = await call.queue();
  const bulk = new BulkRetry(pool, tables);
  // A dead task is retried by itself: not along with the one that it belongs to.
  const plan = await bulk.plan({ dead: false, ...readFilter(options) });
  const isDry = flagOption(options, 'dry-run');
  showPlan(call, plan);
  if (isDry || plan.total === 0) {
    output.json({ failed: plan.total, counts: plan.counts, retried: 0, finished: true });
    return 0;
  }
  if (!(await confirm(call, `Retry ${readableCount(plan.total)} tasks?`))) {
    output.line('nothing was retried');
    return 0;
  }
  const { signal } = call;
  const progress = output.progress('retrying', plan.total);
  let retried = 0;
  try {
    for await (const count of bulk.run(plan)) {
      retried += count;
      progress.advance(count);
      if (signal.aborted) break;
    }
  } finally {
    progress.end();
  }
  const isWhole = retried >= plan.total;
  output.json({ failed: plan.total, counts: plan.counts, retried, finished: isWhole });
  output.line(`${readableCount(retried)} of ${readableCount(plan.total)} tasks start anew`);
  if (!isWhole)
    output.note(signal.aborted ? 'it was ended before all were' : 'the others were changed meanwhile');
  return isWhole ? 0 : 3;
}

function showPlan({ output }: CommandCall, { counts, total }: RetryPlan): void {
  output.table(
    ['topic', 'subscription', 'failed', 'oldest'],
    counts.map(({ topic, subscriptionId, count, oldest }) => [
      topic,
      subscriptionId,
      readableCount(count),
      oldest,
    ]),
  );
  output.line(
    total === 0
      ? 'no failed task is like that'
      : `${readableCount(total)} failed ${total === 1 ? 'task' : 'tasks'}`,
  );
}
