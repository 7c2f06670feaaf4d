import { TarefaError } from '../errors.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { readTaskRecord } from '../storage/columns.js';
import { taskAttempts } from '../storage/postgres/statements/admin.js';
import type { QueueAdminParts } from './queue-admin-parts.js';
import type { TaskHistory } from './task-answers.js';
import { readId } from './task-filter.js';

type Readable = Pick<QueueAdminParts, 'handle' | 'tables'>;

/**
 * All attempts of a task, and the last of them.
 *
 * @param id of any of its attempts
 * @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID`
 */
export async function findAttempts(
  { handle, tables }: Readable,
  id: string,
  withPayload = false,
): Promise<Omit<TaskHistory, 'deadIds'>> {
  const { rows } = await queryReadable(handle, taskAttempts(tables, withPayload), [readId(id)]);
  const attempts = rows.map(readTaskRecord);
  const current = attempts.at(-1);
  if (!current) {
    throw new TarefaError('TASK_NOT_FOUND', `there is no attempt ${id}: it may have been purged`);
  }
  return { current, attempts };
}

/** Why a task cannot be changed so: says where it stands. */
export async function refusal(parts: Readable, id: string, verb: string, rule: string): Promise<TarefaError> {
  const { current } = await findAttempts(parts, id);
  return new TarefaError(
    'TASK_STATE',
    `task ${id} cannot be ${verb}: ${rule}, and its attempt ${current.id} is ${current.dead ? 'dead and ' : ''}${current.status}`,
  );
}
