import type { BulkKind } from '../../admin.js';
import type { QueueTables } from '../identifiers.js';
import { cancelChosen, hasFailedForGood, isWaiting, startAnew } from './admin.js';

// What operators do with many tasks at once: counted first, then done in blocks that commit alone.

type Queue = Pick<QueueTables, 'queue'>;

/** Attempts that each kind of work means; of a task the last one only. */
export const meant = {
  retry: hasFailedForGood,
  cancel: isWaiting,
  delete: `f.reenfileirado is not true and f.status is distinct from 'processando'`,
} as const satisfies Readonly<Record<BulkKind, string>>;

/**
 * How many attempts are meant, by topic and subscription, and the greatest id among them: what comes later is beyond it. Ids
 * below 1, which only SQL can insert, are not walked.
 *
 * @param conditions SQL over `f`, with parameters from `$1` on
 */
export const countMeant = (
  { queue }: Queue,
  kind: BulkKind,
  conditions: readonly string[],
): string => `-- name: count_${kind}
select f.processo, f.subscriber_id, count(*)::text as n, min(f.data_hora) as oldest, max(f.id)::text as last
from ${queue} f
where ${['f.id > 0', meant[kind], ...conditions].join('\n  and ')}
group by 1, 2
order by 1 nulls first, 2 nulls first`;

/** The next of them by id. Parameters: id that the last block ended at, greatest id, rows of a block. */
const nextBlock = (queue: string, kind: BulkKind, conditions: readonly string[], lock: string): string => `
  select f.id, coalesce(f.id_inicial, f.id) as first_id
  from ${queue} f
  where ${['f.id > $1::text::bigint and f.id <= $2::text::bigint', meant[kind], ...conditions].join('\n    and ')}
  order by f.id
  limit $3::int${lock}`;

const locked = '\n  for no key update of f skip locked';

/** How many were chosen, and where the next block begins: no row is left behind it. */
const whereItEnded = `(select count(*)::int from chosen) as chosen, (select max(id)::text from chosen) as last`;

/**
 * Starts a block of failed tasks anew; those that somebody has locked are left out. Parameters: those of a block, and of the
 * conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$4` on
 */
export const retryMany = ({ queue }: Queue, conditions: readonly string[]): string => `-- name: retry_many
with chosen as materialized (${nextBlock(queue, 'retry', conditions, locked)}
),
${startAnew(queue)}
select (select count(*)::int from anew) as done, ${whereItEnded}`;

/**
 * Ends a block of tasks that wait. Parameters: those of a block, message, and those of the conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$5` on
 */
export const cancelMany = ({ queue }: Queue, conditions: readonly string[]): string => `-- name: cancel_many
with chosen as materialized (${nextBlock(queue, 'cancel', conditions, locked)}
),
ended as (
${cancelChosen(queue, '$4')}
returning f.id
)
select (select count(*)::int from ended) as done, ${whereItEnded}`;

/**
 * The tasks of a block that is to be deleted, by their first attempts. Parameters: those of a block, and of the conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$4` on
 */
export const chooseDeletable = (
  { queue }: Queue,
  conditions: readonly string[],
): string => `-- name: choose_deletable
with chosen as materialized (${nextBlock(queue, 'delete', conditions, '')}
)
select array(select distinct first_id::text from chosen) as tasks, ${whereItEnded}`;

/** `whole`: of tasks, by their first attempts, all attempts and those of the dead chains they left, and so on. */
const wholeTasks = (queue: string): string => `roots (task, root) as (
  select id, id from unnest($1::text[]::bigint[]) id
  union
  select roots.task, d.id
  from roots join ${queue} d on d.dead and d.id_anterior is null and d.live_id = roots.root
),
whole as (
  select roots.task, f.id, f.status from roots join ${queue} f on f.id = roots.root or f.id_inicial = roots.root
)`;

/**
 * Locks all rows of tasks, so that none of them starts, ends or is retried any more. Parameters: first attempts.
 *
 * @param skips whether what somebody else has locked is left out, instead of waited for
 */
export const lockTasks = ({ queue }: Queue, skips: boolean): string => `-- name: lock_tasks
with recursive ${wholeTasks(queue)}
select l.id::text as id
from ${queue} l
where l.id = any(array(select id from whole))
order by l.id
for update of l${skips ? ' skip locked' : ''}`;

/**
 * Deletes tasks of which nothing runs, with their dead chains; one of which a row is not locked by us, such as a new attempt,
 * stays. Asked after {@link lockTasks} in the same transaction, so that it sees what was committed before the locks were
 * ours. Parameters: first attempts, locked ids.
 */
export const deleteTasks = ({ queue }: Queue): string => `-- name: delete_tasks
with recursive ${wholeTasks(queue)},
kept as materialized (
  select task from whole where status = 'processando'
  union
  select w.task from whole w where not exists (select from unnest($2::text[]::bigint[]) ours (id) where ours.id = w.id)
),
gone as (
  delete from ${queue} d
  where d.id = any(array(select id from whole where task not in (select task from kept)))
  returning d.id
)
select (select count(*)::int from gone) as attempts,
  (select count(distinct task)::int from whole join gone using (id)) as done`;
