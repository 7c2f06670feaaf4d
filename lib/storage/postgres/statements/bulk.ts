import type { BulkKind } from '../../admin.js';
import type { QueueTables } from '../identifiers.js';
import { hasFailedForGood, isWaiting, restart } from './admin.js';
import { cancelChosen } from './cancel.js';

// What operators do with many tasks at once: the tasks are counted first, then changed in blocks, one commit each.

type Queue = Pick<QueueTables, 'queue'>;

/** Attempts that each kind of work applies to; only the last attempt of a task. */
export const meant = {
  retry: hasFailedForGood,
  cancel: isWaiting,
  delete: `f.reenfileirado is not true and f.status is distinct from 'processando'`,
} as const satisfies Readonly<Record<BulkKind, string>>;

/**
 * How many attempts match, by topic and subscription, and the greatest id among them: later inserts have greater ids. Ids
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

/** The next block by id. Parameters: id that the last block ended at, greatest id, rows of a block. */
const nextBlock = (queue: string, kind: BulkKind, conditions: readonly string[], lock: string): string => `
  select f.id, coalesce(f.id_inicial, f.id) as first_id
  from ${queue} f
  where ${['f.id > $1::text::bigint and f.id <= $2::text::bigint', meant[kind], ...conditions].join('\n    and ')}
  order by f.id
  limit $3::int${lock}`;

const locked = '\n  for no key update of f skip locked';

/**
 * The first attempt that a block would take. Parameters: those of a block, then of the conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$4` on
 */
export const firstOfBlock = (
  { queue }: Queue,
  kind: BulkKind,
  conditions: readonly string[],
): string => `-- name: first_of_block
select chosen.id::text as id from (${nextBlock(queue, kind, conditions, kind === 'delete' ? '' : locked)}
) chosen`;

/** How many were chosen, and where the next block begins: every row before that was looked at. */
const whereItEnded = `(select count(*)::int from chosen) as chosen, (select max(id)::text from chosen) as last`;

/**
 * Starts a block of failed tasks again, without those that another session has locked. Parameters: those of a block, then
 * of the conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$4` on
 */
export const retryMany = ({ queue }: Queue, conditions: readonly string[]): string => `-- name: retry_many
with chosen as materialized (${nextBlock(queue, 'retry', conditions, locked)}
),
${restart(queue)}
select (select count(*)::int from restarted) as done, ${whereItEnded}`;

/**
 * Cancels a block of waiting tasks. Parameters: those of a block, message, who, then those of the conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$6` on
 */
export const cancelMany = ({ queue }: Queue, conditions: readonly string[]): string => `-- name: cancel_many
with chosen as materialized (${nextBlock(queue, 'cancel', conditions, locked)}
),
ended as (
${cancelChosen(queue, '$4', '$5')}
returning f.id
)
select (select count(*)::int from ended) as done, ${whereItEnded}`;

/**
 * Finds the tasks of a block to delete, by their first attempts. Parameters: those of a block, then of the conditions.
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

/** `whole`: all attempts of tasks, named by their first attempts, with their dead chains and those chains' dead chains. */
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
 * Locks all rows of tasks, so that none of them can start, end or be retried. Parameters: first attempts.
 *
 * @param skips true to leave out rows that another session has locked, false to wait for them
 */
export const lockTasks = ({ queue }: Queue, skips: boolean): string => `-- name: lock_tasks
with recursive ${wholeTasks(queue)}
select l.id::text as id
from ${queue} l
where l.id = any(array(select id from whole))
order by l.id
for update of l${skips ? ' skip locked' : ''}`;

/**
 * Deletes tasks of which nothing runs, with their dead chains. A task stays when this transaction has not locked all its
 * rows: it may have a new attempt. Sent after {@link lockTasks} in the same transaction, so that it sees what was committed
 * before the locks were taken. Parameters: first attempts, locked ids.
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
