import { PurgeRun } from '../../admin/purge-run.js';
import type { PurgeableCount } from '../../storage/upkeep.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { flagOption, numberOption } from '../option-values.js';
import { readableCount, readableDuration, readableTime } from '../output/readable.js';
import { waitOrStop } from '../wait-or-stop.js';

/** `tarefa purge`. */
export const purgeCommand: Command = {
  name: 'purge',
  summary: 'deletes old history: whole finished tasks, in blocks',
  usage: '',
  description: `A task is deleted with all its attempts and dead tasks, once each of them has ended and was due longer ago than
    --older-than. Running and waiting tasks stay, and so do payloads that are still needed. It deletes in blocks until nothing
    is left to delete, or until Ctrl-C: what was deleted by then stays deleted. Half of the time is left to the queue, unless
    --full-speed is given.

    Of a partitioned table, only partitions whose tasks may all be deleted are dropped; some of what --dry-run counts stays
    until the rest of its partition may be deleted.

    A task that the database refuses to delete, because another table refers to it, stays with all its attempts.

    Exit code 3 when Ctrl-C interrupted it, or when a partition or a task could not be deleted.`,
  options: {
    'older-than': {
      type: 'string',
      value: '<days>',
      description: 'how many days of history to keep. Default: QUEUE_PURGE_MAX_AGE, else 60',
    },
    'dry-run': {
      type: 'boolean',
      description: 'counts what would be deleted, by topic, and changes nothing',
    },
    'full-speed': { type: 'boolean', description: 'does not leave half of the time to the queue' },
  },
  examples: ['tarefa purge --older-than 30 --dry-run', 'tarefa purge --older-than 30'],
  run: async (call): Promise<ExitCode> => {
    if (call.positionals.length > 0) throw new UsageError('purge takes no arguments');
    const days = numberOption(call.options, 'older-than', { least: 0, most: 36_500, whole: false });
    const { database, options } = await call.queue();
    const olderThanDays = days ?? options.purgeMaxAgeDays;
    const purge = new PurgeRun(database, olderThanDays, options.purgeLimit);
    return flagOption(call.options, 'dry-run')
      ? count(call, purge, olderThanDays)
      : run(call, purge, olderThanDays);
  },
};

async function count(
  { output, signal }: CommandCall,
  purge: PurgeRun,
  olderThanDays: number,
): Promise<ExitCode> {
  const progress = output.progress('to purge');
  const topics = new Map<string, PurgeableCount>();
  let rows = 0;
  for await (const found of purge.count()) {
    for (const one of found) add(topics, one);
    const more = found.reduce((sum, one) => sum + one.rows, 0);
    rows += more;
    progress.advance(more);
    if (signal.aborted) break;
  }
  progress.end();
  const counts = [...topics.values()].toSorted((a, b) => b.rows - a.rows);
  const oldest = counts.map((one) => one.oldest).reduce(earlier, null);
  const finished = !signal.aborted;
  output.json({ olderThanDays, dryRun: true, rows, oldest, counts, finished });
  output.table(
    ['topic', 'subscription', 'rows', 'oldest'],
    counts.map((one) => [one.topic, one.subscriptionId, readableCount(one.rows), one.oldest]),
  );
  const since = oldest === null ? '' : `, the oldest from ${readableTime(oldest)}`;
  output.line(
    `${readableCount(rows, !finished)} rows of tasks that ended more than ${olderThanDays} days ago${since}`,
  );
  return finished ? 0 : 3;
}

async function run(call: CommandCall, purge: PurgeRun, olderThanDays: number): Promise<ExitCode> {
  const { output, signal, options } = call;
  const isPaced = !flagOption(options, 'full-speed');
  const progress = output.progress('deleted');
  const began = performance.now();
  let rows = 0;
  let finished = true;
  let blockBegan = began;
  for await (const gone of purge.run()) {
    rows += gone;
    progress.advance(gone);
    if (isPaced) await waitOrStop(performance.now() - blockBegan, signal);
    finished = !signal.aborted;
    if (!finished) break;
    blockBegan = performance.now();
  }
  progress.end();
  const ms = performance.now() - began;
  const rowsPerSecond = Math.round((rows * 1_000) / ms);
  output.json({ olderThanDays, dryRun: false, rows, rowsPerSecond, finished });
  output.line(
    `${readableCount(rows)} rows deleted in ${readableDuration(ms)}${rows > 0 ? `, ${readableCount(rowsPerSecond)} a second` : ''}` +
      (finished ? '' : '; interrupted before it was finished'),
  );
  const problems = purge.takeProblems();
  for (const problem of problems) output.error(problem);
  return finished && problems.length === 0 ? 0 : 3;
}

function add(topics: Map<string, PurgeableCount>, one: PurgeableCount): void {
  const key = JSON.stringify([one.topic, one.subscriptionId]);
  const present = topics.get(key);
  if (!present) topics.set(key, one);
  else {
    topics.set(key, { ...one, rows: one.rows + present.rows, oldest: earlier(one.oldest, present.oldest) });
  }
}

function earlier(one: Date | null, other: Date | null): Date | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
