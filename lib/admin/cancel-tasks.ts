import type { QueueEvents } from '../events.js';
import type { TaskAdmin } from '../storage/admin.js';
import type { CancelledAttempt } from '../storage/cancellation.js';
import { readTransaction } from '../storage/sql-handle.js';
import { readOptions } from './admin-input.js';
import { readCancellable, readCancellation, type Cancellable, type CancelledTasks } from './cancellation.js';
import { refusal } from './task-attempts.js';

/**
 * Cancels what an operator names.
 *
 * @param options as `CancelOptions`
 * @throws {TarefaError} of a single id `TASK_STATE`, `TASK_NOT_FOUND`; `QUEUE_BUSY`, `INPUT_INVALID`
 */
export async function cancelTasks(
  tasks: TaskAdmin,
  events: Pick<QueueEvents, 'emit'>,
  what: Cancellable,
  options: unknown,
): Promise<CancelledTasks> {
  const { tx: given, ...note } = readOptions(options, ['by', 'reason', 'tx']);
  const [target, cancellation] = [readCancellable(what), readCancellation(note)];
  const tx = given === undefined ? undefined : readTransaction(given);
  const found = await tasks.cancel(target, cancellation, tx);
  if (found.length === 0 && typeof what === 'string') {
    const rule = 'only tasks that are waiting, or running in a worker of this library, can be';
    throw await refusal(tasks, what, `cancelled: ${rule}`);
  }
  const [ended, running] = [found.filter(({ runs }) => !runs), found.filter(({ runs }) => runs)];
  // Only the caller knows when that transaction commits.
  for (const { runs: _runs, ...task } of tx ? [] : ended) {
    events.emit('task.cancelled', { task, ...cancellation });
  }
  return { cancelled: ended.map(firstIdOf), stopping: running.map(firstIdOf) };
}

function firstIdOf({ firstAttemptId }: CancelledAttempt): string {
  return firstAttemptId;
}
