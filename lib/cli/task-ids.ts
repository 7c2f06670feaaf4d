import { readId } from '../values/attempt-id.js';
import type { QueueAdmin } from '../admin/queue-admin.js';
import { hasCode, TarefaError } from '../errors.js';
import { UsageError, type CommandCall, type ExitCode } from './command.js';
import { textOfError } from './exit-of-error.js';

/** What became of one of several tasks. */
interface TaskResult {
  readonly id: string;
  readonly done: boolean;
  readonly [field: string]: unknown;
}

/**
 * The ids that a command was given, each once.
 *
 * @throws {UsageError}, {TarefaError} `INPUT_INVALID`: before anything is done
 */
export function readIds({ positionals }: CommandCall): readonly string[] {
  if (positionals.length === 0) throw new UsageError('no task given: pass the id of any of its attempts');
  return [...new Set(positionals.map(readId))];
}

/** The number of a task: the id of its first attempt. What is not there keeps the id that it was named by. */
export async function taskNumber(admin: QueueAdmin, id: string): Promise<string> {
  try {
    return (await admin.find(id, { payload: false })).current.firstAttemptId;
  } catch (error) {
    if (hasCode(error, 'TASK_NOT_FOUND')) return id;
    throw error;
  }
}

/**
 * Does something with each task, and goes on when one of them is refused.
 *
 * @param act is given the number of the task; returns what `--json` also shows, and the line that is shown otherwise
 * @returns 0 when all were done, 3 when some were, 2 when none was
 */
export async function forEachTask(
  call: CommandCall,
  ids: readonly string[],
  act: (
    id: string,
  ) => Promise<{ readonly fields?: Readonly<Record<string, unknown>>; readonly line: string }>,
): Promise<ExitCode> {
  const { output } = call;
  const { admin } = await call.queue();
  const results: TaskResult[] = [];
  for (const given of ids) {
    const id = await taskNumber(admin, given);
    try {
      const { fields, line } = await act(id);
      results.push({ id, done: true, ...fields });
      output.line(line);
    } catch (error) {
      if (!(error instanceof TarefaError) || !refusals.has(error.code)) throw error;
      results.push({ id, done: false, code: error.code, message: error.message });
      output.error(textOfError(error, false));
    }
  }
  output.json({ tasks: results });
  const done = results.filter((result) => result.done).length;
  return done === results.length ? 0 : done > 0 ? 3 : 2;
}

const refusals: ReadonlySet<string> = new Set(['TASK_STATE', 'TASK_NOT_FOUND', 'QUEUE_BUSY']);
