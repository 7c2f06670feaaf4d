import type { TaskPage } from '../../admin/task-answers.js';
import { readSelection, type TaskFilter } from '../../admin/task-filter.js';
import { taskState } from '../../storage/columns.js';
import type { TaskRecord } from '../../task.js';
import { UsageError, type Command, type CommandCall, type ExitCode } from '../command.js';
import { filterOptions, readFilter, statusOption } from '../filter-options.js';
import { flagOption, numberOption, textOption } from '../option-values.js';
import { readableTopic } from '../output/readable.js';
import { readRedaction, redactOption } from '../show/redact-option.js';
import { taskView, withoutSecrets } from '../show/task-view.js';

/** `tarefa tasks`. */
export const tasksCommand: Command = {
  name: 'tasks',
  summary: 'lists attempts, the newest first, without their payloads',
  usage: '[filters]',
  description: `Each attempt is shown with the number of its task; a later attempt's own id follows its count. --latest shows only the
    last attempt of each task, which is the current state of the task. If there are more, the --after of the next page is
    printed at the end. On a large table, a filter that matches few old attempts takes a while: narrow it with --since.

    --status retrying: failed tasks that are scheduled for their next attempt; scheduled: tasks that are waiting for their
    first. Once they are due, both are pending.

    Secrets in messages and in the fields of --json are hidden, as on the dashboard.

    --payload searches payloads of at most 64 KiB, from the newest task to the oldest, until a page is full; it never locks
    anything, and Ctrl-C stops it.`,
  options: {
    ...statusOption,
    ...filterOptions,
    payload: {
      type: 'string',
      value: '<text>',
      description: 'only tasks whose payload contains this text, case-insensitively',
    },
    latest: { type: 'boolean', description: 'only the last attempt of each task' },
    ...redactOption,
    limit: { type: 'string', value: '<n>', description: 'attempts per page, at most 1000. Default 50' },
    after: {
      type: 'string',
      value: '<id>',
      description: 'continues from the value printed by the previous page',
    },
  },
  examples: ['tarefa tasks --status failed --latest --since 24h', 'tarefa tasks --topic send-receipt --json'],
  run: async (call): Promise<ExitCode> => {
    const { positionals, options, output } = call;
    if (positionals[0] !== undefined) {
      throw new UsageError(
        `unexpected argument ${JSON.stringify(positionals[0])}: \`tarefa task <id>\` shows one task`,
      );
    }
    const limit = numberOption(options, 'limit', { least: 1, most: 1_000 });
    const after = textOption(options, 'after');
    const filter = readFilter(options);
    const all = flagOption(options, 'latest') ? { ...filter, latest: true } : filter;
    const redaction = readRedaction(options);
    const { tasks: found, next } =
      filter.payload === undefined
        ? await list(call, all, { limit, after })
        : await searchPayloads(call, all, { limit, after });
    const tasks = found.map((task) => withoutSecrets(task, redaction));
    output.json({ tasks: tasks.map(taskView), next: next ?? null });
    if (tasks.length === 0) output.line('no attempt matches');
    output.table(
      ['task', 'attempt', 'status', 'topic', 'subscription', 'due', 'message'],
      tasks.map((task) => [
        task.firstAttemptId,
        task.id === task.firstAttemptId ? task.attempt : `${task.attempt} (${task.id})`,
        { status: taskState(task) },
        readableTopic(task.topic, task.dead),
        task.subscriptionId,
        task.dueAt,
        task.message,
      ]),
    );
    if (next !== undefined) output.note(`more: --after ${next}`);
    return 0;
  },
};

interface Page {
  readonly limit: number | undefined;
  readonly after: string | undefined;
}

const defaultPage = 50;

async function list(call: CommandCall, filter: TaskFilter, { limit, after }: Page): Promise<TaskPage> {
  const { admin } = await call.queue();
  return admin.list(filter, {
    ...(limit === undefined ? {} : { limit }),
    ...(after === undefined ? {} : { after }),
    payload: false,
  });
}

/** Many short transactions instead of one statement that reads every payload. */
async function searchPayloads(
  call: CommandCall,
  filter: TaskFilter,
  { limit = defaultPage, after }: Page,
): Promise<TaskPage> {
  const { reports } = (await call.queue()).database;
  const selection = readSelection(filter);
  const { output, signal } = call;
  const progress = output.progress('searching, % of the table', 100);
  const tasks: TaskRecord[] = [];
  let next = after;
  let shown = 0;
  try {
    do {
      const found = await reports.search(selection, { limit: limit - tasks.length, after: next });
      tasks.push(...found.tasks);
      next = found.next;
      const percent = Math.floor(found.searched * 100);
      progress.advance(percent - shown);
      shown = percent;
    } while (tasks.length < limit && next !== undefined && !signal.aborted);
  } finally {
    progress.end();
  }
  return { tasks, next };
}
