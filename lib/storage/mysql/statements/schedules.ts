import type { QueueTables } from '../identifiers.js';
import { after, epochMs, now } from '../sql-time.js';
import { named } from '../statement.js';
import { columns, row } from './insert.js';

type Schedules = Pick<QueueTables, 'schedules'>;

const timeOf = (ms: string): string => after(ms, `'1970-01-01'`);

/** True of schedules that go on where these are declared. */
const isServed = (declared: number): string =>
  `s.paused_at is null and (not s.declared or s.id in (${Array(Math.max(1, declared)).fill('?').join(', ')}))`;

/**
 * The clock, the time of the first schedule that is not due, and those that are due, the longest first. Parameters: ids of those
 * of code, or null without any; the same again; most.
 */
export const dueSchedules = ({ schedules }: Schedules, declared: number): string => {
  const served = isServed(declared);
  return [
    named(
      'next_schedule',
      `select ${epochMs(now)} as now_ms,
  (select ${epochMs('min(s.next_at)')} from ${schedules} s where ${served} and s.next_at > ${now}) as next_ms`,
    ),
    named(
      'due_schedules',
      `
select s.id, s.rule, s.task, s.revision, ${epochMs('s.next_at')} as due_ms
from ${schedules} s
where ${served} and s.next_at <= ${now}
order by s.next_at, s.id
limit ?`,
    ),
  ].join(';\n');
};

/** Moves a schedule, counting all its tasks as missed. Parameters: next time, missed, id, revision. */
const moveSchedule = ({ schedules }: Schedules): string =>
  named(
    'move_schedule',
    `
update ${schedules} s
set s.next_at = ${timeOf('?')}, s.revision = s.revision + 1, s.missed = s.missed + ?
where s.id = ? and s.revision = ? and s.paused_at is null`,
  );

/**
 * Inserts a task where the statement before has changed a row, or inserted one. Parameters: those of a row, and with a key the key
 * twice: nothing is inserted while another task has it.
 */
const insertOccurrence = ({ queue }: Pick<QueueTables, 'queue'>, keyed: boolean): string => {
  const [column, value] = keyed ? [', chave_unica', ', ?'] : ['', ''];
  const isFree = keyed
    ? `\n  and not exists (select 1 from ${queue} f force index (unica) where f.unica = cast(? as binary))`
    : '';
  return named(
    'insert_occurrence',
    `insert into ${queue} (${columns}${column})\nselect ${row.slice(1, -1)}${value} from dual where row_count() = 1${isFree}`,
  );
};

/** Notes that its tasks were inserted. Parameters: the latest time, how many tasks, id. */
const noteOccurrence = ({ schedules }: Schedules): string =>
  named(
    'note_occurrence',
    `
update ${schedules} s set s.last_at = ${timeOf('?')}, s.missed = s.missed - ?
where s.id = ? and row_count() = 1`,
  );

/**
 * Moves a schedule and inserts its tasks, both or neither, in one text: a process that stops in its middle holds no lock. Parameters:
 * those of the statements in it.
 */
export function moveText(tables: QueueTables, tasks: number, keyed: boolean): string {
  return [
    'start transaction',
    moveSchedule(tables),
    ...Array<string>(tasks).fill(insertOccurrence(tables, keyed)),
    ...(tasks > 0 ? [noteOccurrence(tables)] : []),
    'commit',
  ].join(';\n');
}

const fields = (workers: string): string =>
  `s.id, s.declared, s.rule, s.task, s.next_at, s.last_at, s.missed, s.paused_at, s.revision,
  exists (select 1 from ${workers} w where w.stopped_at is null and json_contains(w.schedules, json_quote(s.id))) as announced`;

/** By id. */
export const listSchedules = ({ schedules, workers }: QueueTables): string =>
  named('list_schedules', `select ${fields(workers)} from ${schedules} s order by s.id`);

/** Parameters: id. */
export const findSchedule = ({ schedules, workers }: QueueTables): string =>
  named('find_schedule', `select ${fields(workers)} from ${schedules} s where s.id = ?`);

export const readClock = named('read_clock', `select ${epochMs(now)} as now_ms`);

/** Parameters: whether code declares it, rule, task, next time, id. */
export const addSchedule = ({ schedules }: Schedules): string =>
  named(
    'add_schedule',
    `insert into ${schedules} (declared, rule, task, next_at, id) values (?, ?, ?, ${timeOf('?')}, ?)`,
  );

/** A time that is due stays. Parameters: rule, task, next time, id, whether code declares it, revision. */
export const changeSchedule = ({ schedules }: Schedules): string =>
  named(
    'change_schedule',
    `
update ${schedules} s
set s.rule = ?, s.task = ?, s.next_at = if(s.next_at <= ${now}, s.next_at, ${timeOf('?')}), s.revision = s.revision + 1, s.changed_at = ${now}
where s.id = ? and s.declared = ? and s.revision = ?`,
  );

/** Parameters: id. */
export const removeSchedule = ({ schedules }: Schedules): string =>
  named('remove_schedule', `delete from ${schedules} where id = ?`);

/** Parameters: id. */
export const pauseSchedule = ({ schedules }: Schedules): string =>
  named(
    'pause_schedule',
    `update ${schedules} s set s.paused_at = coalesce(s.paused_at, ${now}), s.revision = s.revision + 1, s.changed_at = ${now} where s.id = ?`,
  );

/** Parameters: next time, id, revision. */
export const resumeSchedule = ({ schedules }: Schedules): string =>
  named(
    'resume_schedule',
    `
update ${schedules} s set s.paused_at = null, s.next_at = ${timeOf('?')}, s.revision = s.revision + 1, s.changed_at = ${now}
where s.id = ? and s.revision = ? and s.paused_at is not null`,
  );

/** Parameters: ids. */
export const declaredSchedules = ({ schedules }: Schedules, count: number): string =>
  named(
    'declared_schedules',
    `select s.id, s.declared, s.rule, s.task, s.revision, s.last_at from ${schedules} s where s.id in (${Array(count).fill('?').join(', ')})`,
  );
