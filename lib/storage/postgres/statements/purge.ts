import { statement } from '../statement.js';

/** `$1` of most statements here: days. */
const hasEnded = (row: string): string => `${row}.status in ('sucesso', 'falha', 'falha_processando')`;

/** An attempt that has ended and was due more than `$1` days ago. `falha_processando` is nsj-queue-lib's. */
export const isOver = (row: string): string =>
  `coalesce(${hasEnded(row)} and ${row}.data_hora < now() - $1::float8 * interval '1 day', false)`;

/**
 * A family is deleted as a whole or not at all: a chain with all its attempts and replays, and its dead chains. Its name is
 * the id of the chain's first attempt, even when that row is gone.
 */
export const familyOf = (row: string): string =>
  `case when ${row}.dead then coalesce(${row}.live_id, ${row}.id_inicial, ${row}.id) else coalesce(${row}.id_inicial, ${row}.id) end`;

/** All attempts of one family; an index of its own finds each part. */
const membersOf = (queue: string, family: string, columns: (row: string) => string): string => `
    select ${columns('f')} from ${queue} f where f.id = ${family}
    union all
    select ${columns('f')} from ${queue} f where f.id_inicial = ${family}
    union all
    select own.*
    from ${queue} d
    cross join lateral (
      select ${columns('d')}
      union all
      select ${columns('f')} from ${queue} f where f.id_inicial = d.id
    ) own
    where d.dead and d.id_anterior is null and d.live_id = ${family}`;

/**
 * Families that have ended: `purgeable`, and their attempts in blocks, `blocks`, the oldest family first. A block holds
 * whole families.
 *
 * @param ended SQL of families, when the first of their attempts that were found was due, and the ids of these
 * @param blockRows SQL of how many rows a block has
 */
export const purgeableBlocks = (queue: string, ended: string, blockRows: string): string => `
ended as materialized (${ended}
),
purgeable as materialized (
  select e.family, e.due, array(select unnest(e.ids) union select unnest(whole.ids)) as ids
  from ended e
  cross join lateral (
    select array_agg(m.id) as ids, bool_and(m.over) as over
    from (${membersOf(queue, 'e.family', (row) => `${row}.id, ${isOver(row)} as over`)}
    ) m
  ) whole
  where whole.over is not false
),
placed as (
  select p.ids, (sum(cardinality(p.ids)) over (order by p.due, p.family) - cardinality(p.ids)) / ${blockRows} as place
  from purgeable p
),
blocks as (
  select floor(placed.place) as block, array_agg(member.id)::text as ids
  from placed, unnest(placed.ids) member (id)
  group by 1
)`;

/**
 * Looks at the next rows by their key. Returns which of them may be deleted, in blocks of whole families, the oldest first;
 * the id that it ended at, the first id that stays, and whether looking further may find old rows. It reads a window of ids
 * because no index orders by time, and a walk from the beginning would meet the dead entries of all earlier deletions.
 *
 * Parameters: days, id to look behind, rows to look at, rows of a block, id to look before (null: to the end).
 */
export const findPurgeable = statement(
  'find_purgeable',
  ({ queue }) => `
with looked as materialized (
  select f.id, f.data_hora, ${familyOf('f')} as family, ${isOver('f')} as over,
    f.data_hora < now() - $1::float8 * interval '1 day' as old
  from ${queue} f
  where f.id > $2::bigint and f.id < coalesce($5::bigint, 9223372036854775807)
  order by f.id
  limit $3::int
),
${purgeableBlocks(
  queue,
  `
  select l.family, min(l.data_hora) as due, array_agg(l.id) as ids
  from looked l
  group by l.family
  having bool_and(l.over)`,
  '$4::int',
)},
ends as (
  select max(l.id) as last, count(*) = $3::int and coalesce(bool_or(l.old), false) as goes_on,
    min(l.id) filter (where l.family not in (select p.family from purgeable p)) as kept_from
  from looked l
)
select ends.last::text as last, ends.goes_on, ends.kept_from::text as kept_from, blocks.ids
from ends
left join blocks on true
order by blocks.block`,
);

/** Attempts of each family among some. Parameters: ids. */
export const familiesAmong = statement(
  'families_among',
  ({ queue }) => `
select array_agg(f.id order by f.id)::text as ids
from ${queue} f
where f.id = any($1::bigint[])
group by ${familyOf('f')}
order by min(f.id)`,
);

/**
 * Locks attempts that have ended, so that no operator can start them again. Rows that another session has locked are skipped
 * until the next call. Parameters: ids.
 */
export const lockPurgeable = statement(
  'lock_purgeable',
  ({ queue }) => `
with locked as materialized (
  select f.id from ${queue} f where f.id = any($1::bigint[]) and ${hasEnded('f')} for update skip locked
)
select array_agg(locked.id)::text as ids from locked`,
);

/**
 * Deletes the families of which all attempts are locked. It is a statement of its own because only one that begins after
 * the locks are held is certain to see an attempt that an operator's retry has just inserted. Parameters: ids.
 */
export const purge = statement(
  'purge',
  ({ queue }) => `
with locked as materialized (
  select f.id, ${familyOf('f')} as family from ${queue} f where f.id = any($1::bigint[])
),
members as materialized (
  select families.family, m.id
  from (select distinct l.family from locked l) families
  cross join lateral (${membersOf(queue, 'families.family', (row) => `${row}.id`)}
    offset 0
  ) m
),
broken as materialized (
  select m.family from members m where m.id not in (select l.id from locked l)
),
gone as (
  delete from ${queue} d
  where d.id = any(array(select l.id from locked l where l.family not in (select b.family from broken b)))
  returning d.id
)
select count(*)::int as gone from gone`,
);
