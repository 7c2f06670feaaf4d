import type { TaskRecord } from '../../task.js';

/** An attempt without its payload. */
export type TaskView = Omit<TaskRecord, 'payload'>;

/** What is shown of an attempt: payloads are the user's, and stay where they are. */
export function taskView({ payload: _payload, ...rest }: TaskRecord): TaskView {
  return rest;
}
