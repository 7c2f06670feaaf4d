import {
  readRecurringTask,
  readRule,
  type RecurrenceInput,
  type RecurringTask,
} from '../../../../lib/client/schedule-input.js';
import { definitionTexts } from '../../../../lib/storage/schedule-row.js';

/** Rule and task as a row of `tasks_schedule` has them. */
export function scheduleTexts(rule: RecurrenceInput, task: RecurringTask): readonly [string, string] {
  return definitionTexts({ rule: readRule(rule), task: readRecurringTask(task, 1_000_000) });
}
