import { everyTopic } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { nextReservation, plainRouteOf, type Statement } from '../statement.js';
import { taskFields } from './settle-and-claim.js';

/**
 * Claims dead attempts that nobody has a handler for, to be given the default treatment: no running worker has announced
 * one for their route, or for every topic. A worker of the first version does not say which dead attempts it handles: what
 * it serves at all counts. One that is missed runs until it is confirmed lost, and written down as stopped by that: a look
 * may fall into the gap in which its session reconnects, and what the default treatment has ended is over.
 *
 * Parameters: worker, limit.
 *
 * @param interop true when the lock of a task is taken before its claim can be seen: see {@link settleAndClaim}
 */
export function claimUnattended({ queue, workers, paused }: QueueTables, interop: boolean): Statement {
  const name = `claim_unattended${interop ? '_interop' : ''}`;
  const text = `-- name: ${name}
with best as materialized (
  select f.id
  from ${queue} f
  where f.status = 'pendente' and f.dead and f.data_hora <= now()
    and not exists (select from ${paused} p where p.route = ${plainRouteOf('f.')})
    and not exists (
      select from ${workers} w
      where w.stopped_at is null
        and coalesce(w.dead_routes, w.routes) && array[${plainRouteOf('f.')}, case when f.subscriber_id is null then '${everyTopic}' end]
    )
  order by f.data_hora, f.id
  limit $2::int
  for no key update of f skip locked
),
locked as materialized (
  select best.id, ${interop ? 'pg_try_advisory_lock(best.id)' : 'true'} as got from best
)
update ${queue} f
set status = 'processando', executor = $1::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
where f.id = any(array(select id from locked where got))
returning ${taskFields}, octet_length(f.payload) as payload_bytes, null as payload_inline`;
  return { name: `tarefa_${name}`, text };
}
