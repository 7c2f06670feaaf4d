import { quoteLiteral } from '../identifiers.js';
import { routeExpression, statement } from '../statement.js';

const leastOfAll = `'-9223372036854775808'::bigint`;

/** Bounds of a partition of ids as PostgreSQL writes them. */
const boundsPattern = String.raw`'^FOR VALUES FROM \((?:''(-?\d+)''|MINVALUE)\) TO \(''(-?\d+)''\)$'`;

/**
 * The id from which the oldest partition begins that has an unfinished attempt; null for a table without partitions. The
 * partition that is filled now and the one before count as if they had one, because transactions may still add to them.
 *
 * One look per partition and status into an index that holds unfinished attempts only; the order makes the planner take it.
 */
export const oldestUnfinished = statement('oldest_unfinished', ({ queue }) => {
  const one = (status: string, order: string): string => `(
    select f.id from ${queue} f
    where f.status = '${status}' and f.id >= r.low and f.id < r.high
    order by ${order}
    limit 1
  ) is not null`;
  return `
with ranges as materialized (
  select coalesce(b.bounds[1]::bigint, ${leastOfAll}) as low, b.bounds[2]::bigint as high
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), ${boundsPattern}) b (bounds)
  where i.inhparent = to_regclass(${quoteLiteral(queue)}) and b.bounds is not null
),
filling as materialized (
  select min(newest.low) as low
  from (
    select ranges.low from ranges
    where ranges.low <= pg_sequence_last_value(pg_get_serial_sequence(${quoteLiteral(queue)}, 'id')::regclass)
    order by ranges.low desc limit 2
  ) newest
)
select coalesce(
  (select min(r.low) from ranges r, filling
   where r.high <= filling.low and (
     ${one('pendente', `${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id`)}
     or ${one('agendada', 'f.data_hora, f.id')}
     or ${one('processando', 'f.executor')})),
  (select low from filling))::text as id`;
});
