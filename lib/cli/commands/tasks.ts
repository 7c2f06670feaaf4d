import { UsageError, type Command, type ExitCode } from '../command.js';
import { filterOptions, readFilter, statusOption } from '../filter-options.js';
import { flagOption, numberOption, textOption } from '../option-values.js';
import { readableTopic } from '../output/readable.js';
import { taskView } from '../show/task-view.js';

/** `tarefa tasks`. */
export const tasksCommand: Command = {
  name: 'tasks',
  summary: 'lists attempts, the newest first; never their payloads',
  usage: '[filters]',
  description: `A task may have several attempts: --latest shows the last one of each only, as the task stands now. What is next on
    a further page is said at the end; hand it over with --after. On a large table a filter that chooses few old attempts
    takes its time: narrow it with --since.`,
  options: {
    ...statusOption,
    ...filterOptions,
    latest: { type: 'boolean', description: 'the last attempt of each task only' },
    limit: { type: 'string', value: '<n>', description: 'attempts of a page, at most 1000. Default 50' },
    after: { type: 'string', value: '<id>', description: 'what a page before said is next' },
  },
  examples: ['tarefa tasks --status failed --latest --since 24h', 'tarefa tasks --topic send-receipt --json'],
  run: async (call): Promise<ExitCode> => {
    const { positionals, options, output } = call;
    if (positionals[0] !== undefined) {
      throw new UsageError(
        `what is ${JSON.stringify(positionals[0])}? One task is shown by \`tarefa task <id>\``,
      );
    }
    const limit = numberOption(options, 'limit', { least: 1, most: 1_000 });
    const after = textOption(options, 'after');
    const filter = readFilter(options);
    const { admin } = await call.queue();
    const { tasks, next } = await admin.list(
      flagOption(options, 'latest') ? { ...filter, latest: true } : filter,
      {
        ...(limit === undefined ? {} : { limit }),
        ...(after === undefined ? {} : { after }),
        payload: false,
      },
    );
    output.json({ tasks: tasks.map(taskView), next: next ?? null });
    if (tasks.length === 0) output.line('no attempt is like that');
    output.table(
      ['id', 'task', 'attempt', 'status', 'topic', 'subscription', 'due', 'message'],
      tasks.map(({ id, firstAttemptId, attempt, status, topic, dead, subscriptionId, dueAt, message }) => [
        id,
        firstAttemptId,
        attempt,
        status,
        readableTopic(topic, dead),
        subscriptionId,
        dueAt,
        message,
      ]),
    );
    if (next !== undefined) output.note(`more: --after ${next}`);
    return 0;
  },
};
