import type { BulkFilter, BulkKind, BulkPlan } from '../admin/bulk-run.js';
import { UsageError, type CommandCall, type CommandOption, type ExitCode } from './command.js';
import { confirm, yesOption } from './confirm.js';
import { filterOptions, readFilter, statusOption } from './filter-options.js';
import { cancelOptionsOf } from './cancel-options.js';
import { flagOption } from './option-values.js';
import { readableCount } from './output/readable.js';

/** How a command speaks of what it does to many tasks. */
export interface BulkWords {
  /** `Retry`: of the question. */
  readonly verb: string;
  /** `retrying`: beside the bar. */
  readonly doing: string;
  /** `failed`: what is counted. */
  readonly meant: string;
  /** Its name in JSON. Default: `meant`. */
  readonly field?: string;
  /** `retried`: also its name in JSON. */
  readonly done: string;
}

/** What commands take that do something to many tasks. */
export function bulkOptions(meant: string): Readonly<Record<string, CommandOption>> {
  return {
    all: { type: 'boolean', description: `every ${meant} task that matches the filters` },
    ...filterOptions,
    'dry-run': { type: 'boolean', description: 'with --all: counts, and changes nothing' },
    ...yesOption,
  };
}

/** Whether many are meant, and not named by ids. */
export function meansAll({ options, positionals }: CommandCall): boolean {
  if (!flagOption(options, 'all')) {
    const withAll = new Set([...Object.keys(filterOptions), ...Object.keys(statusOption), 'dry-run']);
    const stray = Object.keys(options).find((name) => withAll.has(name));
    if (stray !== undefined) throw new UsageError(`--${stray} requires --all`);
    return false;
  }
  if (positionals.length > 0) throw new UsageError('give ids or --all, not both');
  return true;
}

/**
 * Counts the tasks that match the filters, asks, and does it in blocks that Ctrl-C can end.
 *
 * @returns 3 when not all of them were done
 */
export async function doAll(call: CommandCall, kind: BulkKind, words: BulkWords): Promise<ExitCode> {
  const { options, output, signal } = call;
  const filter: BulkFilter = readFilter(options);
  const { admin } = await call.queue();
  const bulk = admin.bulk(kind, kind === 'cancel' ? cancelOptionsOf(call) : {});
  // A dead task is a task of its own: not meant along with the one that it belongs to.
  const plan = await bulk.plan({ dead: false, ...filter });
  const tell = (done: number, finished: boolean): void =>
    output.json({
      [words.field ?? words.meant]: plan.total,
      counts: plan.counts,
      [words.done]: done,
      refused: bulk.refused.length,
      finished,
    });
  showPlan(call, plan, words);
  if (flagOption(options, 'dry-run') || plan.total === 0) {
    tell(0, true);
    return 0;
  }
  const count = readableCount(plan.total);
  if (!(await confirm(call, `${words.verb} ${count} ${plan.total === 1 ? 'task' : 'tasks'}?`))) {
    output.line(`nothing was ${words.done}`);
    return 0;
  }
  const progress = output.progress(words.doing, plan.total);
  let done = 0;
  try {
    for await (const some of bulk.run(plan)) {
      done += some;
      progress.advance(some);
      if (signal.aborted) break;
    }
  } finally {
    progress.end();
  }
  const isWhole = done >= plan.total;
  tell(done, isWhole);
  output.line(`${readableCount(done)} of ${count} tasks ${words.done}`);
  if (isWhole) return 0;
  for (const { id, message } of bulk.refused.slice(0, mostShown)) {
    output.error(`the database refused task ${id}: ${message}`);
  }
  if (signal.aborted) output.note('interrupted before it was finished');
  else if (done + bulk.refused.length < plan.total)
    output.note('the other tasks were changed in the meantime');
  return 3;
}

/** Refused tasks that are named. */
const mostShown = 10;

function showPlan({ output }: CommandCall, { counts, total }: BulkPlan, { meant }: BulkWords): void {
  output.table(
    ['topic', 'subscription', meant, 'oldest'],
    counts.map(({ topic, subscriptionId, count, oldest }) => [
      topic,
      subscriptionId,
      readableCount(count),
      oldest,
    ]),
  );
  const tasks = `${meant} ${total === 1 ? 'task' : 'tasks'}`;
  output.line(total === 0 ? `no ${meant} task matches` : `${readableCount(total)} ${tasks}`);
}
