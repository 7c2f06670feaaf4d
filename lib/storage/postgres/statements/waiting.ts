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
       where w.stopped_at is null and coalesce(w.dead_routes, w.routes) && ${announced}
     ))`;
};

/** @param pending SQL of what is pending besides dead attempts: 0, or null when there is nothing; and the column `pending` */
const idleLook = (tables: QueueTables, pending: string, routes: string): string => {
  const { queue, workers } = tables;
  return `
select least(
  ${pending},
  (select 0 from ${queue} f
   where f.status = 'pendente' and f.dead and ${isDeadForUs(tables, '$4::text[]')}
   order by f.data_hora, f.id
   limit 1),
  (select ${dueInMs('f.')}
   from ${queue} f
   where f.status = 'agendada' and f.data_hora < 'infinity'
   order by f.data_hora, f.id
   limit 1)
) as next_due_ms,
exists (select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint) as holding,
exists (select from ${workers} w where w.id = $2::bigint and w.halt_at is not null) as halted,
${routes} as pending`;
};

/**
 * All that an idle worker asks, by one statement: in how many milliseconds the next attempt is due that it serves, whether
 * it holds rows that it does not know of, and whether it was told to stop. One probe per route, however many tasks wait on
 * others. Ordered as the index is, or the planner may choose another one.
 *
 * Parameters: worker, or null to leave out what it holds, which takes long under an old snapshot; worker; the routes whose
 * live attempts it takes; the routes whose dead attempts it takes.
 */
export const nextDue = statement('next_due', (tables) =>
  idleLook(
    tables,
    `(select 0 from unnest($3::text[]) served (route)
   cross join lateral (
     select from ${tables.queue} f
     where f.status = 'pendente' and ${routeExpression('f.')} = served.route and not f.dead
     order by f.prioridade desc, f.data_hora, f.id
     limit 1
   ) one
   limit 1)`,
    'null',
  ),
);

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

/** Routes that have pending attempts. */
export const pendingRoutes = statement(
  'pending_routes',
  ({ queue }) => `
with recursive ${skipRoutes(queue)}
select route from routes where route is not null`,
);

/** {@link nextDue} for a worker that discovers what it serves: also answers which routes have pending attempts. Same parameters. */
export const nextDueOfAny = statement(
  'next_due_of_any',
  (tables) => `
with recursive ${skipRoutes(tables.queue)}
${idleLook(
  tables,
  // Parameters of the other form have their types here too.
  'case when $3::text[] is null then null::int end',
  'to_json(array(select routes.route from routes where routes.route is not null))::text',
)}`,
);

/**
 * Whether anything is due on some routes: one probe per route, however many attempts wait on others. Ordered as the index
 * is, as above. Parameters: the routes; of each, whether only dead attempts count, or only others (null: both).
 */
export const wouldClaim = statement(
  'would_claim',
  ({ queue }) => `
select exists (
  select from unnest($1::text[], $2::boolean[]) r (route, dead)
  cross join lateral (
    select from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now()
      and (r.dead is null or f.dead = r.dead)
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
