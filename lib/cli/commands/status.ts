import type { QueueStatus } from '../../admin/queue-status.js';
import type { OperatorQueue } from '../../assembly/operators.js';
import { countLimit, endedLimit, newestLimit } from '../../storage/reports.js';
import { hasCode } from '../../errors.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, numberOption, timeOption } from '../option-values.js';
import { showStatus } from '../show/show-status.js';
import { waitOrStop } from '../wait-or-stop.js';

const defaultIntervalSeconds = 2;
/** Counting what can be purged reads far more than the rest, and changes slowly. */
const purgeableEveryMs = 60_000;

/** `tarefa status`. */
export const statusCommand: Command = {
  name: 'status',
  summary:
    'shows the state of the queue: counts, lag, running tasks, workers, sizes, what holds back cleanup',
  usage: '',
  description: `Costs about the same whatever the size of the table. Counts stop at a limit, and are then shown with a +: pending at
    ${count(countLimit)} of each topic, subscription and priority (fewer if there are more than 10 of these), scheduled and running at ${count(countLimit)}, ended at
    ${count(endedLimit)}, history to purge among the oldest 50,000 rows. Finished tasks are counted if they were due in the last
    hour, or since --since. Each part may take 5 s; a part that takes longer, or is not allowed, is named and left out.

    Tasks that gave up are counted as they stand now, however long ago that was: those that a dead handler has dealt with, and
    those that none has. The latest 5,000 are examined, and of those without a dead task the ones among the newest ${count(newestLimit)} ids.

    What needs attention is listed under problems, the most urgent first, as in QueueAdmin.status() and on the dashboard: what
    no living worker serves, publications that reached nobody, failing topics, resting endpoints, lost workers, rows that
    contradict each other, and more. Problems of finished tasks cover the last hour; contradicting rows are looked for among the
    newest ${count(newestLimit)} ids, and by \`tarefa check\` among all.

    What sessions of other roles hold back is visible only to members of pg_read_all_stats, and on MySQL and MariaDB only with
    the PROCESS privilege.

    With --watch, the output is refreshed, on a terminal in place, until Ctrl-C, which is exit code 0. With --json, one document
    per line.`,
  options: {
    since: {
      type: 'string',
      value: '<time>',
      description:
        'counts finished tasks that were due since this time: 2026-01-31, 30m, 24h, 7d. Default 1h',
    },
    interop: {
      type: 'boolean',
      description:
        'workers of nsj-queue-lib also serve the table: what no worker here serves or holds is not reported',
    },
    watch: { type: 'boolean', description: 'keeps refreshing the output' },
    interval: {
      type: 'string',
      value: '<seconds>',
      description: `how often to refresh. Default ${defaultIntervalSeconds}`,
    },
  },
  examples: ['tarefa status', 'tarefa status --watch --interval 5', 'tarefa status --json'],
  run: async (call): Promise<ExitCode> => {
    const { options, output, positionals } = call;
    if (positionals.length > 0) throw new UsageError('status takes no arguments');
    const interval = numberOption(options, 'interval', { least: 0.1, most: 86_400, whole: false });
    timeOption(options, 'since');
    const queue = await call.queue();
    const read = reader(call, queue);
    if (flagOption(options, 'watch'))
      return watch(call, queue, read, (interval ?? defaultIntervalSeconds) * 1_000);
    if (interval !== undefined) throw new UsageError('--interval requires --watch');
    const report = await read();
    output.json(report);
    showStatus(output, report);
    return 0;
  },
};

type Read = () => Promise<QueueStatus>;

function reader(call: CommandCall, { admin }: OperatorQueue): Read {
  let countedAt = -Infinity;
  let purgeable: QueueStatus['purgeable'] = null;
  return async () => {
    const isDue = performance.now() - countedAt >= purgeableEveryMs;
    const since = timeOption(call.options, 'since');
    const report = await admin.status({ purgeable: isDue, since });
    if (isDue) [countedAt, purgeable] = [performance.now(), report.purgeable];
    return { ...report, purgeable };
  };
}

async function watch(
  { output, signal }: CommandCall,
  { database }: OperatorQueue,
  read: Read,
  intervalMs: number,
): Promise<ExitCode> {
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  for (;;) {
    try {
      const report = await Promise.race([read(), stopped]);
      if (!report || signal.aborted) return 0;
      output.clear();
      output.jsonLine(report);
      showStatus(output, report);
    } catch (error) {
      // While a server restarts the watch goes on.
      if (database.classify(error) !== 'connection' && !hasCode(error, 'CONNECTION_LOST')) throw error;
      output.error(`the database is unreachable: ${(error as Error).message}`);
    }
    if (!(await waitOrStop(intervalMs, signal))) return 0;
    if (!output.isTerminal) output.line();
  }
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}
