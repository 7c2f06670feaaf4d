import { isBuried } from '../../columns.js';
import { mostNamed } from '../../inconsistencies.js';
import type { QueueTables } from '../identifiers.js';
import { deadTaskOf } from './fail.js';

/** True for a failed attempt that was retried, by a worker or an operator, and that none follows. */
export const lacksNextAttempt = (queue: string): string =>
  `f.reenfileirado and f.status in ('falha', 'falha_processando') and not exists (select from ${queue} n where n.id_anterior = f.id)`;

/** True for the last attempt of a task that has no dead task, though this library has ended it for lack of attempts. */
export const lacksDeadTask = (queue: string): string =>
  `${isBuried('f')} and f.finalizada_em is not null and ${deadTaskOf(queue, 'f')} is null`;

/** The id behind which the newest attempts are. Parameters: how many. */
export const beforeNewest = ({ queue }: Pick<QueueTables, 'queue'>): string => `-- name: before_newest
select (max(f.id) - $1::int)::text as id from ${queue} f`;

/**
 * Rows that must not be there, by kind, with the first of them. What ran out of attempts under another program, which writes no
 * `finalizada_em`, may have had no dead task. Operators have the same statements in docs/guides/operating.md. Parameters: since
 * when what has ended is checked (null: always), days that deliveries are kept, the id behind which it is checked (null: all).
 *
 * @param interop whether attempts without a worker's id are held by workers of nsj-queue-lib
 */
export const findInconsistencies = (
  { queue, workers }: Pick<QueueTables, 'queue' | 'workers'>,
  interop: boolean,
): string => `-- name: check
with ended as not materialized (
  select f.id, f.id_inicial, f.rodada, f.status, f.reenfileirado, f.estouro_tentativas, f.dead, f.pub_sub, f.mensagem,
    f.data_hora, f.finalizada_em
  from ${queue} f
  where ($1::text is null or coalesce(f.finalizada_em, f.data_hora) >= $1::text::timestamptz)
    and ($3::text is null or f.id > $3::text::bigint)
),
found as (
  select 'no-next-attempt' as kind, f.id
  from ended f
  where ${lacksNextAttempt(queue)}
  union all
  select 'no-dead-task', f.id
  from ended f
  where ${lacksDeadTask(queue)}
  union all
  select 'missing-deliveries', f.id
  from ended f
  where f.pub_sub and not f.dead and f.status = 'sucesso'
    and f.data_hora > now() - $2::float8 * interval '1 day'
    and (
      select count(*) from ${queue} d
      where d.publication_id = coalesce(f.id_inicial, f.id) and d.id_anterior is null and not d.dead
    ) < substring(f.mensagem from '^delivered to ([0-9]{1,9}) ')::bigint
  union all
  select 'no-worker', f.id
  from ${queue} f
  where f.status = 'processando'${interop ? ' and f.executor is not null' : ''}
    and not exists (select from ${workers} w where w.id = f.executor and w.stopped_at is null)
)
select kind, count(*)::text as n, array_to_string((array_agg(id order by id desc))[1:${mostNamed}], ',') as ids
from found
group by kind
order by min(id)`;
