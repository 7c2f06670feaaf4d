import { scheduleKey } from '../../schedules.js';
import type { QueueTables } from '../identifiers.js';
import { quietSetting, statement } from '../statement.js';
import { columns, fromMany, onConflict, rowOfMany } from './insert.js';

type Schedules = Pick<QueueTables, 'schedules'>;

const msOf = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`;
const timeOf = (ms: string): string => `to_timestamp(${ms} / 1000)`;

/** True of schedules that go on where these are declared. */
const isServed = `s.paused_at is null and (not s.declared or s.id = any($1::text[]))`;

/**
 * Schedules that are due, the longest first, and the clock; one row without a schedule when there is none. Parameters: ids of those
 * of code, most.
 */
export const dueSchedules = statement(
  'due_schedules',
  ({ schedules }) => `
select ${msOf('clock.at')} as now_ms, d.*,
  ${msOf(`(select min(s.next_at) from ${schedules} s where ${isServed} and s.next_at > clock.at)`)} as next_ms
from (select clock_timestamp() as at offset 0) clock
left join lateral (
  select s.id, s.rule, s.task, s.revision, ${msOf('s.next_at')} as due_ms
  from ${schedules} s
  where ${isServed} and s.next_at <= clock.at
  order by s.next_at, s.id
  limit $2::int
) d on true`,
);

/**
 * Moves schedules and inserts their tasks, both or neither; whoever calls it rings. A schedule that another worker is moving is
 * passed by. Parameters: the tasks as {@link insertMany} takes them, which name their schedules in their metadata; the moves as
 * JSON.
 *
 * @param keyed whether tasks have unique keys, for which there must be an index
 */
const moving = (keyed: boolean) => (tables: QueueTables) => `
with ${quietSetting(tables.queue)},
moving as materialized (
  select s.id, m.next, m.last, m.missed, m.tasks
  from json_to_recordset($2::text::json) m (id text, revision bigint, next float8, last float8, missed bigint, tasks bigint)
  join ${tables.schedules} s on s.id = m.id and s.revision = m.revision and s.paused_at is null
  order by s.id
  for update of s skip locked
), made as (
  insert into ${tables.queue} (${columns}, chave_unica)
  select ${rowOfMany}, t.chave_unica
  ${fromMany('chave_unica')}
  join moving on moving.id = t.metadados ->> '${scheduleKey}'
  cross join quiet
  order by t.ord${keyed ? `\n  ${onConflict} do nothing` : ''}
  returning metadados ->> '${scheduleKey}' as schedule
), counted as (
  select made.schedule, count(*) as tasks from made group by made.schedule
)
update ${tables.schedules} s
set next_at = ${timeOf('moving.next')}, revision = s.revision + 1,
  last_at = case when counted.tasks > 0 then ${timeOf('moving.last')} else s.last_at end,
  missed = s.missed + moving.missed + moving.tasks - coalesce(counted.tasks, 0)
from moving
left join counted on counted.schedule = moving.id
where s.id = moving.id
returning s.id`;

export const moveSchedules = statement('move_schedules', moving(false));
export const moveKeyedSchedules = statement('move_keyed_schedules', moving(true));

const fields = (workers: string): string =>
  `s.id, s.declared, s.rule, s.task, s.next_at, s.last_at, s.missed, s.paused_at, s.revision::text as revision,
  exists (select from ${workers} w where w.stopped_at is null and s.id = any(w.schedules)) as announced`;

/** By id. */
export const listSchedules = ({ schedules, workers }: QueueTables): string => `-- name: list_schedules
select ${fields(workers)} from ${schedules} s order by s.id`;

/** Parameters: id. */
export const findSchedule = ({ schedules, workers }: QueueTables): string => `-- name: find_schedule
select ${fields(workers)} from ${schedules} s where s.id = $1::text`;

export const readClock = `-- name: read_clock
select ${msOf('clock_timestamp()')} as now_ms`;

/** Returns nothing when the id is taken. Parameters: id, rule, task, next time. */
export const addSchedule = ({ schedules }: Schedules): string => `-- name: add_schedule
insert into ${schedules} (id, declared, rule, task, next_at)
values ($1::text, false, $2::text, $3::text, ${timeOf('$4::float8')})
on conflict (id) do nothing
returning id`;

const keepsDue = (next: string): string =>
  `case when s.next_at <= clock_timestamp() then s.next_at else ${next} end`;

/** Parameters: those of {@link addSchedule}, revision. */
export const changeSchedule = ({ schedules }: Schedules): string => `-- name: change_schedule
update ${schedules} s
set rule = $2::text, task = $3::text, next_at = ${keepsDue(timeOf('$4::float8'))}, revision = s.revision + 1
where s.id = $1::text and s.revision = $5::bigint and not s.declared
returning s.id`;

/** Parameters: id. */
export const removeSchedule = ({ schedules }: Schedules): string => `-- name: remove_schedule
delete from ${schedules} s where s.id = $1::text returning s.id`;

/** Parameters: id. */
export const pauseSchedule = ({ schedules }: Schedules): string => `-- name: pause_schedule
update ${schedules} s
set paused_at = coalesce(s.paused_at, clock_timestamp()), revision = s.revision + 1
where s.id = $1::text
returning s.id`;

/** Parameters: id, next time, revision. */
export const resumeSchedule = ({ schedules }: Schedules): string => `-- name: resume_schedule
update ${schedules} s
set paused_at = null, next_at = ${timeOf('$2::float8')}, revision = s.revision + 1
where s.id = $1::text and s.revision = $3::bigint and s.paused_at is not null
returning s.id`;

/** Parameters: ids. */
export const declaredSchedules = ({ schedules }: Schedules): string => `-- name: declared_schedules
select s.id, s.declared, s.rule, s.task, s.revision::text as revision, s.last_at from ${schedules} s
where s.id = any($1::text[]) order by s.id`;

/**
 * Writes those whose rows are as they were read: whoever has moved one meanwhile has made a task that the next time must not name
 * again. In the order of their ids, so that processes that start together wait for each other in one direction. Parameters: JSON.
 */
export const declareSchedules = ({ schedules }: Schedules): string => `-- name: declare_schedules
insert into ${schedules} as s (id, declared, rule, task, next_at, revision)
select d.id, true, d.rule, d.task, ${timeOf('d.next')}, coalesce(d.revision, 0) + 1
from json_to_recordset($1::text::json) d (id text, rule text, task text, next float8, revision bigint)
order by d.id
on conflict (id) do update
set rule = excluded.rule, task = excluded.task, next_at = ${keepsDue('excluded.next_at')}, revision = excluded.revision
where s.declared and s.revision = excluded.revision - 1
returning s.id`;
