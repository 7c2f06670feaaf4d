import { mostNewest } from '../../admin/check-options.js';
import { inconsistencyText } from '../../storage/inconsistencies.js';
import { UsageError, type Command, type ExitCode } from '../command.js';
import { numberOption, timeOption } from '../option-values.js';

/** `tarefa check`. */
export const checkCommand: Command = {
  name: 'check',
  summary: 'looks for rows that contradict each other, such as a retried attempt without its next one',
  usage: '',
  description: `Looks for attempts that are marked as retried but have no next attempt, tasks that ran out of attempts but have no
    dead task, publications with fewer deliveries than they record, and attempts that are processing although no registered
    worker holds them. Bugs, triggers and manual changes leave such rows; so does \`tarefa delete\` of a dead task or a
    delivery. docs/guides/operating.md explains what to do about each.

    It changes nothing. It reads the whole table, one scan for each kind, unless --newest limits it.

    Exit code 3 when it finds something.`,
  options: {
    since: {
      type: 'string',
      value: '<time>',
      description: 'skips what ended before this time: 2026-01-31, 30m, 24h, 7d. Default: everything',
    },
    newest: {
      type: 'string',
      value: '<n>',
      description: 'checks only this many of the newest ids, at most 1000000. Default: everything',
    },
    timeout: {
      type: 'string',
      value: '<seconds>',
      description: 'how long it may take. Default: no limit',
    },
    interop: {
      type: 'boolean',
      description: 'workers of nsj-queue-lib also serve the table: attempts that name no worker are theirs',
    },
  },
  examples: ['tarefa check', 'tarefa check --since 1d --json', 'tarefa check --newest 10000'],
  run: async (call): Promise<ExitCode> => {
    const { output, options, positionals } = call;
    if (positionals.length > 0)
      throw new UsageError('check takes no arguments: it applies to the whole queue');
    const since = timeOption(options, 'since');
    const newest = numberOption(options, 'newest', { least: 1, most: mostNewest });
    const seconds = numberOption(options, 'timeout', { least: 0.1, most: 86_400, whole: false });
    const { admin } = await call.queue();
    const found = await admin.check({ since, newest, timeoutMs: (seconds ?? 0) * 1_000 });
    output.json({ since: since ?? null, newest: newest ?? null, inconsistencies: found });
    if (found.length === 0) output.line('no inconsistencies found');
    for (const one of found) output.line(inconsistencyText(one));
    return found.length === 0 ? 0 : 3;
  },
};
