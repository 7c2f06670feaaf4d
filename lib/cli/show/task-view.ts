import { taskState } from '../../storage/columns.js';
import type { TaskRecord } from '../../task.js';

/** An attempt without its payload. */
export type TaskView = Omit<TaskRecord, 'payload'>;

/** What is shown of an attempt: payloads are the user's, and stay where they are. */
export function taskView({ payload: _payload, ...rest }: TaskRecord): TaskView {
  const shown = { ...rest, status: taskState(rest) };
  return isDeep(rest.metadata) ? { ...shown, metadata: tooDeep } : shown;
}

/** JSON with more levels is not meant to be read, and printing thousands of them fails. */
const mostLevels = 100;
const tooDeep = { omitted: `nested deeper than ${mostLevels} levels` };

function isDeep(value: unknown, levels = mostLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1));
}
