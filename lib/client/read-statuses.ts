import { TarefaError } from '../errors.js';
import { readList } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { taskStatuses } from '../storage/columns.js';
import type { TaskStatus } from '../task.js';

/**
 * Reads a list of statuses that a program gave.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readStatuses(given: unknown): readonly TaskStatus[] {
  return readList('the statuses', given).map((status) => {
    const known = taskStatuses.find((one) => one === status);
    if (known) return known;
    throw new TarefaError(
      'INPUT_INVALID',
      `${shownValue(status)} is not a status; the statuses are ${taskStatuses.join(', ')}`,
    );
  });
}
