import { TarefaError } from '../errors.js';
import type { TaskAdmin } from '../storage/admin.js';
import { readId } from '../values/attempt-id.js';
import { isRetriable, type TaskHistory } from './task-answers.js';

/**
 * All attempts of a task, and the last of them.
 *
 * @param id of any of its attempts
 * @throws {TarefaError} `TASK_NOT_FOUND`, `INPUT_INVALID`
 */
export async function findAttempts(
  admin: TaskAdmin,
  id: string,
  withPayload = false,
): Promise<Omit<TaskHistory, 'deadIds'>> {
  const attempts = await admin.attemptsOf(readId(id), withPayload);
  const current = attempts.at(-1);
  if (!current) throw taskNotFound(id);
  return { current, attempts };
}

/** Of an attempt that is not there, or that this connection does not see. */
export function taskNotFound(id: string): TarefaError {
  return new TarefaError(
    'TASK_NOT_FOUND',
    `attempt ${id} not found: it may have been purged, or the transaction that inserts it has not committed yet; ask after the commit`,
  );
}

/**
 * Why a task cannot be changed so: says where it stands.
 *
 * @param what it cannot be, and when it can: `buried: only …`, `deleted while …`
 */
export async function refusal(admin: TaskAdmin, id: string, what: string): Promise<TarefaError> {
  const { current } = await findAttempts(admin, id);
  return new TarefaError(
    'TASK_STATE',
    `task ${current.firstAttemptId} cannot be ${what} (attempt ${current.id} is ${current.dead ? 'dead and ' : ''}${current.status})`,
  );
}

/** Why a task was not started again. */
export async function refusedRetry(admin: TaskAdmin, id: string): Promise<TarefaError> {
  const { current } = await findAttempts(admin, id);
  const rule = isRetriable(current)
    ? ' while another task has its unique key, chave_unica'
    : ': only failed or cancelled tasks can be';
  return refusal(admin, id, `retried${rule}`);
}
