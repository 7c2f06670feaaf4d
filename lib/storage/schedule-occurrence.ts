import type { NewTask } from './inserts.js';
import { occurrenceKey, scheduleKey, type ScheduleRecord } from './schedules.js';

/** What a schedule inserts for one of its times. */
export interface Occurrence {
  /** Ms since 1970. */
  readonly atMs: number;
  /** When it is due; null: at once. */
  readonly dueAt: Date | null;
  /** What becomes of it while the one before has not ended, where they must not overlap. */
  readonly onConflict: 'return' | 'reject';
}

/** The task of one time of a schedule. */
export function occurrenceOf(
  { id, rule, task }: Pick<ScheduleRecord, 'id' | 'rule' | 'task'>,
  { atMs, dueAt, onConflict }: Occurrence,
): NewTask {
  const key = `schedule:${id}`;
  return {
    ...task,
    dueAt: dueAt && dueAt.toISOString(),
    metadata: { ...task.metadata, [scheduleKey]: id, [occurrenceKey]: new Date(atMs).toISOString() },
    unique: rule.overlap === 'skip' ? { key, stored: `v:${key}`, onConflict } : null,
  };
}
