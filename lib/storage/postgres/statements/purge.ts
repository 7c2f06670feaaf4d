import { statement } from '../statement.js';

/** An attempt of a chain that is over: its payload is needed by nobody, nothing of it will run again. */
const over = (queue: string): string => `
  f.status in ('sucesso', 'falha') and not exists (
    select from ${queue} other
    where other.id_inicial = coalesce(f.id_inicial, f.id) and other.status in ('pendente', 'agendada', 'processando')
  )`;

/** Ended attempts of ended chains that were due longer ago than so many days, oldest first. Parameters: days, limit. */
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
