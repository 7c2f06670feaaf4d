import { everyTopic } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { named, plainRouteOf } from '../statement.js';
import { now } from '../sql-time.js';
import type { Part } from '../claims/one-text.js';
import { exceptApart, type LeftOut } from './apart.js';

const route = `cast(${plainRouteOf('f.')} as binary)`;

/**
 * Dead attempts for the default treatment, the oldest first: no running worker has announced a handler for their route, or for
 * every topic. A missing worker counts as running until it is confirmed lost: its session may only be reconnecting, and an
 * attempt that the default treatment has ended cannot be handled any more.
 */
export function seeUnattended(
  { queue, workers, paused }: QueueTables,
  { ids }: LeftOut,
  limit: number,
): Part {
  const text = named(
    'see_unattended',
    `
select f.id
from ${queue} f force index (dead_ready)
where f.morta_pronta <= ${now}${exceptApart({ ids }).text}
  and not exists (select 1 from ${paused} p where p.route = ${route})
  and not exists (
    select 1
    from (
      select distinct cast(handled.route as binary) as route
      from ${workers} w
      straight_join json_table(w.dead_routes, '$[*]' columns (route longtext character set utf8mb4 path '$')) handled
      where w.stopped_at is null
    ) attended
    where attended.route = ${route} or (f.subscriber_id is null and attended.route = cast('${everyTopic}' as binary))
  )
order by f.morta_pronta, f.id
limit ?`,
  );
  return { text, values: [limit] };
}

/** Locks dead attempts that are pending still, but for those that another session has locked. Parameter: ids as JSON. */
export const lockDead = ({ queue }: QueueTables): string =>
  named(
    'lock_dead',
    `
select f.id
from (select * from json_table(?, '$[*]' columns (id bigint path '$')) given limit 1000000) j
straight_join ${queue} f force index (primary) on f.id = j.id
where f.status = 'pendente' and f.dead
for update skip locked`,
  );
