import type { Schedule } from '../../admin/schedule-admin.js';
import { taskState } from '../../storage/columns.js';
import type { Redaction } from '../../redaction/redaction.js';
import type { TaskRecord } from '../../task.js';

/** An attempt without its payload. */
export type TaskView = Omit<TaskRecord, 'payload'>;

/** What is shown of an attempt: payloads are the user's, and stay where they are. */
export function taskView({ payload: _payload, ...rest }: TaskRecord): TaskView {
  return { ...rest, status: taskState(rest) };
}

/** An attempt without what the dashboard hides: secrets in messages, errors, results and metadata. */
export function withoutSecrets<T extends TaskRecord>(task: T, redaction: Redaction): T {
  const text = (one: string | null): string | null => (one === null ? null : redaction.text(one).text);
  const { message, error, result, metadata } = task;
  return {
    ...task,
    message: text(message),
    error: text(error),
    result: text(result),
    metadata: metadataWithoutSecrets(metadata, redaction),
  };
}

/** A schedule of whose task nothing is shown that the dashboard would hide of the task. */
export function scheduleWithoutSecrets(schedule: Schedule, redaction: Redaction): Schedule {
  const { payload, metadata } = schedule.task;
  const task = {
    ...schedule.task,
    payload: payload === null ? null : redaction.text(payload).text,
    metadata: metadataWithoutSecrets(metadata, redaction),
  };
  return { ...schedule, task };
}

function metadataWithoutSecrets(
  metadata: TaskRecord['metadata'],
  redaction: Redaction,
): TaskRecord['metadata'] {
  return isDeep(metadata) ? tooDeep : (redaction.redact(metadata).value as TaskRecord['metadata']);
}

/** JSON with more levels is not meant to be read, and printing thousands of them fails. */
const mostLevels = 100;
const tooDeep = { omitted: `nested deeper than ${mostLevels} levels` };

function isDeep(value: unknown, levels = mostLevels): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeep(one, levels - 1));
}
