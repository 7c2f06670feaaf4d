import type { Route } from '../../attempt.js';
import { everyTopic } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { named, plainRouteOf } from '../statement.js';
import { now } from '../sql-time.js';
import type { Part } from '../claims/one-text.js';
import { exceptApart, type LeftOut } from './apart.js';

const route = `cast(${plainRouteOf('f.')} as binary)`;

/**
 * Dead attempts for the default treatment, the oldest first: no running worker has announced a handler for their route, or for
 * every topic.
 *
 * @param handled what running workers have announced
 */
export function seeUnattended(
  { queue, paused }: QueueTables,
  { ids }: LeftOut,
  handled: readonly Route[],
  limit: number,
): Part {
  const butHandled = handled.length === 0 ? '' : `\n  and ${route} not in (?)`;
  const butTopics = handled.includes(everyTopic) ? '\n  and f.subscriber_id is not null' : '';
  const text = named(
    'see_unattended',
    `
select f.id
from ${queue} f force index (dead_ready)
where f.morta_pronta <= ${now}${exceptApart({ ids }).text}${butHandled}${butTopics}
  and not exists (select 1 from ${paused} p where p.route = ${route})
order by f.morta_pronta, f.id
limit ?`,
  );
  return { text, values: [...(handled.length === 0 ? [] : [handled]), limit] };
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
