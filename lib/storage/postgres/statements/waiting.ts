import { everyTopic, isolatedPrefix, subscriptionPrefix, topicPrefix, webhookRoute } from '../../route.js';
import type { QueueTables } from '../identifiers.js';
import { textBytes } from '../readable-rows.js';
import { dueInMs, plainRouteOf, routeExpression, statement } from '../statement.js';

// What waits, and which workers serve it: for idle workers, and for the warning of tasks that no worker takes.

/** At most this many pairs of a route and a priority are looked at. */
const mostPlaces = 10_000;

/** What workers announce that take every topic, or every webhook: they serve each route of that kind. */
const anyOf = (route: string): string =>
  `case left(${route}, 2) when '${topicPrefix}' then '${everyTopic}' when '${subscriptionPrefix}' then '${webhookRoute}' end`;

/**
 * True for dead attempts that are not paused, and that this worker handles or no running one does. A missing worker counts
 * as running until it is confirmed lost.
 */
const isDeadForUs = ({ workers, paused }: QueueTables, deadRoutes: string): string => {
  const route = plainRouteOf('f.');
  const announced = `array[${route}, case when f.subscriber_id is null then '${everyTopic}' end]`;
  return `not exists (select from ${paused} p where p.route = ${route})
     and (${deadRoutes} && ${announced} or not exists (
       select from ${workers} w
       where w.stopped_at is null and w.dead_routes && ${announced}
     ))`;
};

/** The first pending attempt of each route of a range `r (from_route, below)`: a probe per route. */
const headsOf = (queue: string, limit: string): string => {
  const route = routeExpression('f.');
  const order = `${route}, f.prioridade desc, f.data_hora, f.id`;
  const first = (condition: string): string => `
    select ${route} as route, f.prioridade, f.data_hora from ${queue} f
    where f.status = 'pendente' and ${condition} and ${route} < r.below collate "C"
    order by ${order} limit 1`;
  return `
  with recursive heads as (
    (${first(`${route} >= r.from_route collate "C"`)})
    union all
    select following.* from heads cross join lateral (${first(`${route} > heads.route`)}
    ) following
  )
  select * from heads limit ${limit}`;
};

/**
 * Routes in some ranges that have pending attempts, each with the place of its best one. Parameters: where the ranges begin,
 * where they end, how many routes.
 */
export const routeHeads = statement(
  'route_heads',
  ({ queue }) => `
select heads.*
from unnest($1::text[], $2::text[]) r (from_route, below)
cross join lateral (${headsOf(queue, '$3::int')}
) heads
limit $3::int`,
);

/**
 * All that an idle worker asks, by one statement: in how many milliseconds the next attempt is due that it serves, whether
 * it holds rows that it does not know of, whether it was told to stop (null when its row is gone), and which routes have pending attempts of which it
 * finds out whether they are its own. One probe per route, however many tasks wait on others.
 *
 * Parameters: worker, or null to leave out what it holds, which takes long under an old snapshot; worker; where the ranges begin
 * and end in which it takes all live attempts; the routes whose dead attempts it takes; where those of the others begin and end;
 * how many of these.
 */
export const nextDue = statement('next_due', (tables) => {
  const { queue, workers } = tables;
  const route = routeExpression('f.');
  return `
select least(
  (select 0 from unnest($3::text[], $4::text[]) r (from_route, below)
   cross join lateral (
     select from ${queue} f
     where f.status = 'pendente' and ${route} >= r.from_route collate "C" and ${route} < r.below collate "C" and not f.dead
     order by ${route}, f.prioridade desc, f.data_hora, f.id
     limit 1
   ) one
   limit 1),
  (select 0 from ${queue} f
   where f.status = 'pendente' and f.dead and ${isDeadForUs(tables, '$5::text[]')}
   order by f.data_hora, f.id
   limit 1),
  (select ${dueInMs('f.')}
   from ${queue} f
   where f.status = 'agendada' and f.data_hora < 'infinity'
   order by f.data_hora, f.id
   limit 1)
) as next_due_ms,
exists (select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint) as holding,
(select w.halt_at is not null from ${workers} w where w.id = $2::bigint) as halted,
to_json(array(
  select heads.route from unnest($6::text[], $7::text[]) r (from_route, below)
  cross join lateral (${headsOf(queue, '$8::int')}
  ) heads
  limit $8::int
))::text as pending`;
});

/** A recursive part `routes (route)` that skips through the index of pending attempts, one probe per route; its last row is null. */
export const skipRoutes = (queue: string): string => `routes (route) as (
  (select ${routeExpression('f.')} from ${queue} f where f.status = 'pendente' order by 1 limit 1)
  union all
  select (
    select ${routeExpression('f.')} from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} > routes.route
    order by 1 limit 1
  )
  from routes
  where routes.route is not null
)`;

/**
 * Whether anything is due on some routes: one probe per route, however many attempts wait on others. Ordered as the index
 * is, as above. Parameters: the routes; of each, whether only dead attempts count, or only others (null: both); ids to leave out.
 */
export const wouldClaim = statement(
  'would_claim',
  ({ queue }) => `
select exists (
  select from unnest($1::text[], $2::boolean[]) r (route, dead)
  cross join lateral (
    select from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now()
      and (r.dead is null or f.dead = r.dead) and f.id <> all($3::bigint[])
    order by f.prioridade desc, f.data_hora, f.id
    limit 1
  ) one
) as found`,
);

/** The route of those that serve it. */
const plainOf = (route: string): string =>
  `case when left(${route}, 1) = '${isolatedPrefix}' then substr(${route}, 2) else ${route} end`;

/**
 * A worker that delivers webhooks serves subscriptions with a URL, and deleted ones, whose deliveries carry their address.
 */
const notForCode = ({ subscriptions }: QueueTables, route: string): string =>
  subscriptions === undefined
    ? 'true'
    : `not exists (select from ${subscriptions} s where s.id = substr(${route}, 3) and s.url is null)`;

/**
 * For each route with due attempts that is not paused: how long its oldest attempt has waited, and whether a running worker
 * serves it. Skips through the index from one route and priority to the next, where the first entry is the oldest. Routes
 * are bytes, because one that cannot be sent as text must not hide the others.
 */
export const waitingRoutes = statement(
  'waiting_routes',
  (tables) => `
with recursive places (n, route, priority, due) as (
  (select 1, ${routeExpression('f.')}, f.prioridade, f.data_hora from ${tables.queue} f
   where f.status = 'pendente' order by ${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id limit 1)
  union all
  select places.n + 1, next.*
  from places
  cross join lateral (
    select * from (
      (select ${routeExpression('f.')}, f.prioridade, f.data_hora from ${tables.queue} f
       where f.status = 'pendente' and ${routeExpression('f.')} = places.route
         and f.prioridade < coalesce(places.priority::bigint, 2147483648)
       order by ${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id limit 1)
      union all
      (select ${routeExpression('f.')}, f.prioridade, f.data_hora from ${tables.queue} f
       where f.status = 'pendente' and ${routeExpression('f.')} > places.route
       order by ${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id limit 1)
    ) following
    limit 1
  ) next
  where places.n < ${mostPlaces}
),
waiting as (
  select ${plainOf('places.route')} as route, min(places.due) as due
  from places
  where places.due <= now()
  group by 1
)
select ${textBytes('waiting.route')} as route, getdatabaseencoding() as encoding,
  extract(epoch from now() - greatest(waiting.due, 'epoch')) * 1000 as waiting_ms,
  exists (
    select from ${tables.workers} w
    where w.stopped_at is null and w.missed_at is null and (
      waiting.route = any(w.routes)
      or ${anyOf('waiting.route')} = any(w.routes) and (left(waiting.route, 2) <> '${subscriptionPrefix}' or ${notForCode(tables, 'waiting.route')})
    )
  ) as served,
  not exists (select from ${tables.workers} w where w.stopped_at is null and w.missed_at is null) as workerless
from waiting
where not exists (select from ${tables.paused} p where p.route = waiting.route)`,
);
