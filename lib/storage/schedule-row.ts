import { TarefaError } from '../errors.js';
import { readBoolean, readDate } from './columns.js';
import type { NewTask } from './inserts.js';
import type {
  DueSchedule,
  DueSchedules,
  ScheduleDefinition,
  ScheduleMove,
  ScheduleRecord,
  ScheduleRule,
  UnwrittenSchedule,
} from './schedules.js';

type Row = Readonly<Record<string, unknown>>;

/** A schedule from its row. */
export function readSchedule(row: Row): ScheduleRecord {
  return {
    ...readDefinition(row),
    declared: readBoolean(row['declared']),
    announced: readBoolean(row['announced']),
    nextAt: readDate(row['next_at']),
    lastAt: readDate(row['last_at']),
    missed: Number(row['missed']),
    pausedAt: readDate(row['paused_at']),
  };
}

/** What is due, from rows with their times as `due_ms`: what somebody else wrote there holds up no other. */
export function readDue(rows: readonly Row[]): Pick<DueSchedules, 'due' | 'unreadable'> {
  const due: DueSchedule[] = [];
  const unreadable: { readonly id: string; readonly error: unknown }[] = [];
  for (const row of rows) {
    try {
      due.push({ ...readDefinition(row), dueMs: Number(row['due_ms']) });
    } catch (error) {
      unreadable.push({ id: String(row['id']), error });
    }
  }
  return { due, unreadable };
}

function readDefinition(row: Row): Pick<ScheduleRecord, 'id' | 'rule' | 'task' | 'revision'> {
  const id = String(row['id']);
  try {
    return {
      id,
      rule: JSON.parse(String(row['rule'])) as ScheduleRule,
      task: JSON.parse(String(row['task'])) as NewTask,
      revision: String(row['revision']),
    };
  } catch (cause) {
    throw new TarefaError(
      'INPUT_INVALID',
      `the row of the schedule '${id}' was not written by this library: delete it, and add it with QueueAdmin.schedules`,
      { cause },
    );
  }
}

/** Rule and task as they are stored: equal texts are equal definitions. */
export function definitionTexts({
  rule,
  task,
}: Pick<ScheduleDefinition, 'rule' | 'task'>): readonly [string, string] {
  return [JSON.stringify(rule), JSON.stringify(task)];
}

/** Those of some schedules that their rows differ from, and ids of rows that code did not write. */
export function compareDeclared(
  schedules: readonly ScheduleDefinition[],
  rows: readonly Row[],
): { readonly unwritten: readonly UnwrittenSchedule[]; readonly foreign: readonly string[] } {
  const known = new Map(rows.map((row) => [String(row['id']), row]));
  const foreign = rows.filter((row) => !readBoolean(row['declared'])).map((row) => String(row['id']));
  const unwritten = schedules.flatMap((schedule): UnwrittenSchedule[] => {
    const row = known.get(schedule.id);
    if (!row) return [{ ...schedule, revision: null, lastAt: null }];
    const [rule, task] = definitionTexts(schedule);
    if (!readBoolean(row['declared']) || (row['rule'] === rule && row['task'] === task)) return [];
    return [{ ...schedule, revision: String(row['revision']), lastAt: readDate(row['last_at']) }];
  });
  return { unwritten, foreign };
}

/** True for a move whose task is not inserted while another one has its key. */
export function isKeyed({ tasks }: ScheduleMove): boolean {
  return tasks.some(({ unique }) => unique !== null);
}
