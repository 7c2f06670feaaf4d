import { everyTopic } from '../../route.js';
import { nextReservation, plainRouteOf, statement } from '../statement.js';
import { lockingTasks } from './settle-and-claim.js';
import { taskFields } from './task-fields.js';

/**
 * Claims dead attempts for the default treatment: no running worker has announced a handler for their route, or for every
 * topic. A missing worker counts as running until it is confirmed lost: its session may only be reconnecting, and an attempt
 * that the default treatment has ended cannot be handled any more.
 *
 * Parameters: worker, limit, ids to leave out, whether tasks are locked for workers of nsj-queue-lib.
 */
export const claimUnattended = statement(
  'claim_unattended',
  ({ queue, workers, paused }) => `
with best as materialized (
  select f.id
  from ${queue} f
  where f.status = 'pendente' and f.dead and f.data_hora <= now() and f.id <> all($3::bigint[])
    and not exists (select from ${paused} p where p.route = ${plainRouteOf('f.')})
    and not exists (
      select from ${workers} w
      where w.stopped_at is null
        and w.dead_routes && array[${plainRouteOf('f.')}, case when f.subscriber_id is null then '${everyTopic}' end]
    )
  order by f.data_hora, f.id
  limit $2::int
  for no key update of f skip locked
),${lockingTasks('$4::boolean')}
update ${queue} f
set status = 'processando', executor = $1::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
where f.id = any(array(select id from locked where got))
returning ${taskFields}, octet_length(f.payload) as payload_bytes, null as payload_inline`,
);
