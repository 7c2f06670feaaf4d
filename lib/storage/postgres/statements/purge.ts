import { statement } from '../statement.js';

const unfinished = `('pendente', 'agendada', 'processando')`;

/**
 * An attempt of a task that is over: no attempt of its chain and none of its dead chain will run again, so
 * nobody needs its payload, or the time that the task's key is made from. `falha_processando` is how old
 * nsj-queue-lib workers wrote that a worker was lost.
 */
const over = (queue: string): string => `
  f.status in ('sucesso', 'falha', 'falha_processando')
  and not exists (
    select from ${queue} first where first.id = f.id_inicial and first.status in ${unfinished}
  )
  and not exists (
    select from ${queue} other
    where other.id_inicial = coalesce(f.id_inicial, f.id) and other.status in ${unfinished}
  )
  and not exists (
    select from ${queue} buried
    join ${queue} other on other.id = buried.id or other.id_inicial = buried.id
    where buried.dead and buried.id_anterior is null and buried.live_id = coalesce(f.id_inicial, f.id)
      and other.status in ${unfinished}
  )`;

/** Ended attempts of ended tasks that were due longer ago than so many days, oldest first. Parameters: days, limit. */
export const findPurgeable = statement(
  'find_purgeable',
  ({ queue }) => `
select f.id
from ${queue} f
where f.data_hora < now() - $1::float8 * interval '1 day' and ${over(queue)}
order by f.data_hora, f.id
limit $2::int`,
);

/**
 * Deletes attempts, checking again what was true when they were found: a retry by hand may have come between.
 * Locked rows are left for the next round. Parameters: ids.
 */
export const purge = statement(
  'purge',
  ({ queue }) => `
delete from ${queue} d
where d.id = any(array(
  select f.id from ${queue} f where f.id = any($1::bigint[]) and ${over(queue)} for update skip locked
))`,
);
