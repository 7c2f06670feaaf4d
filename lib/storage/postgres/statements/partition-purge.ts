import type { QueueTables } from '../identifiers.js';
import type { Partition } from '../partitions/read-partitions.js';
import { familyOf, isOver, purgeableBlocks } from './purge.js';

// What purge asks of one partition. No statement is prepared: each runs once, with its bounds in the text.

type Queue = Pick<QueueTables, 'queue'>;

/** Rows at each end of a partition whose median age counts as the age of that end. */
const sampleRows = 100;

const epochOf = (table: string, direction: string): string => `
  (select extract(epoch from percentile_disc(0.5) within group (order by f.data_hora))::float8
   from (select f.data_hora from ${table} f where isfinite(f.data_hora) order by f.id ${direction} limit ${sampleRows}) f)`;

/**
 * When its first and its last rows by id were due, in days before now; null where there are none. It takes the median of
 * some rows, because the last task of a day may be due next year, or in the year 294276.
 */
export const partitionAges = ({ table }: Partition): string => `-- name: partition_ages
select (extract(epoch from now()) -${epochOf(table, 'asc')}) / 86400 as first_days,
  (extract(epoch from now()) -${epochOf(table, 'desc')}) / 86400 as last_days`;

const isYoung = (row: string): string =>
  `${row}.data_hora >= now() - $1::float8 * interval '1 day' or ${row}.data_hora is null`;

/** Whether it holds attempts that run, wait or are young: cheap, by partial indexes and the index by age. Parameters: days. */
export const holdsNeeded = ({ table }: Partition): string => `-- name: partition_holds_needed
select exists (select from ${table} f where f.status = 'pendente')
  or exists (select from ${table} f where f.status = 'agendada')
  or exists (select from ${table} f where f.status = 'processando')
  or exists (select from ${table} f where ${isYoung('f')}) as needed`;

/** How many rows it has, and how many of them are kept: reads the whole partition. Parameters: days. */
export const countPartition = ({ table }: Partition): string => `-- name: count_partition
select count(*)::int as rows, count(*) filter (where not ${isOver('f')})::int as kept from ${table} f`;

/** What was filled since the index by age was last brought up to date. */
export const summarizePartition = ({ table }: Partition): string => `-- name: summarize_partition
select brin_summarize_new_values(i.indexrelid::regclass)
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_am a on a.oid = c.relam
where i.indrelid = '${table.replaceAll("'", "''")}'::regclass and a.amname = 'brin'`;

/** Families with attempts in the partition and elsewhere, or whose first attempt has an id of another partition. */
function straddling(queue: string, { table, from, to }: Partition): string {
  const within = (column: string): string =>
    `${from === undefined ? '' : `${column} >= ${from} and `}${column} < ${to}`;
  const outside = from === undefined ? `f.id >= ${to}` : `(f.id < ${from} or f.id >= ${to})`;
  const isFirstDead = 'f.dead and f.id_anterior is null';
  const parts = [
    `select ${familyOf('f')} as family from ${queue} f where ${within('f.id_inicial')} and ${outside}`,
    `select ${familyOf('f')} from ${queue} f where ${isFirstDead} and ${within('f.live_id')} and ${outside}`,
    ...(from === undefined
      ? []
      : [
          `select ${familyOf('f')} from ${table} f where f.id_inicial < ${from}`,
          `select ${familyOf('f')} from ${table} f where ${isFirstDead} and f.live_id < ${from}`,
        ]),
  ];
  return parts.join('\n  union\n  ');
}

/** Whether families cross the edge of the partition. */
export const hasStraddling = ({ queue }: Queue, partition: Partition): string => `-- name: has_straddling
select exists (
  ${straddling(queue, partition)}
) as straddles`;

/**
 * Families that cross the edge: how many have to stay, and the attempts of the others in blocks. Parameters: days, rows of
 * a block.
 */
export const findStraddling = ({ queue }: Queue, partition: Partition): string => `-- name: find_straddling
with touching as materialized (
  ${straddling(queue, partition)}
),${purgeableBlocks(
  queue,
  `
  select t.family, null::timestamptz as due, '{}'::bigint[] as ids from touching t`,
  '$2::int',
)},
kept as (
  select (select count(*) from touching) - (select count(*) from purgeable) as n
)
select kept.n::int as kept, blocks.ids
from kept
left join blocks on true
order by blocks.block`;
