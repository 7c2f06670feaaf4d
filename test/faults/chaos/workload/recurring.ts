import {
  readRecurringTask,
  readRule,
  type RecurrenceInput,
  type RecurringTask,
} from '../../../../lib/client/schedule-input.js';
import { definitionTexts } from '../../../../lib/storage/schedule-row.js';

/** The schedule of a run: its id, which its tasks have as their key, and the ms from one time to the next. */
export const recurring = { key: 'recurring', everyMs: 1_000 };

/** Its row: rule and task. All that it missed is made up for. */
export const recurringTexts: readonly [string, string] = scheduleTexts(
  { every: recurring.everyMs, missed: 'all' },
  { topic: 'transaction', origin: recurring.key, payload: { ms: 0 } },
);

/** Rule and task as a row of `tasks_schedule` has them. */
export function scheduleTexts(rule: RecurrenceInput, task: RecurringTask): readonly [string, string] {
  return definitionTexts({ rule: readRule(rule), task: readRecurringTask(task, 1_000_000) });
}
