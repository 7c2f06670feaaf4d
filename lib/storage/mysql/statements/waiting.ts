import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named, plainRouteOf } from '../statement.js';
import type { RouteRange } from '../../waiting-route.js';
import { nextDueMs } from './promote.js';

// What waits, and which workers serve it: for idle workers, and for the warning of tasks that no worker takes.

/** A statement and its parameters, whose number differs. */
interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Entries of the index that a leap reads: where routes have few attempts, it finds many routes. */
export const leapEntries = 256;

/** The variables of a session that a leap leaves: its last place, how many entries it has read, and what they are, as JSON. */
interface LeapVariables {
  readonly route: string;
  readonly priority: string;
  readonly read: string;
  readonly heads: string;
}

export function leapVariables(name: string): LeapVariables {
  const variable = (what: string): string => `@tarefa_${what}_${name}`;
  return {
    route: variable('route'),
    priority: variable('priority'),
    read: variable('read'),
    heads: variable('heads'),
  };
}

/** Entries of the index of pending attempts, read by a range that the server knows before it begins. */
const entries = (queue: string, condition: string): string => `select f.rota_pronta, f.prioridade, f.data_hora
from ${queue} f force index (ready)
where ${condition}
order by f.rota_pronta, f.prioridade desc, f.data_hora, f.id limit ${leapEntries}`;

/** The first entries of a range. Parameters: where the range begins and ends. */
export const firstEntries = (queue: string): string =>
  entries(queue, 'f.rota_pronta >= ? and f.rota_pronta < ?');

/** The entries behind the last place of the leap before. */
export type NextEntries = (queue: string, before: LeapVariables) => string;

/** From the next route on. Parameters: end of the range. */
export const nextRoute: NextEntries = (queue, { route }) =>
  entries(queue, `f.rota_pronta > ${route} and f.rota_pronta < ?`);

/** From the route's next priority on. Parameters: end of the range. */
export const nextPriority: NextEntries = (queue, before) => `select * from (
(${entries(queue, `f.rota_pronta = ${before.route} and f.prioridade < ${before.priority}`)})
union all
(${nextRoute(queue, before)})
) following limit ${leapEntries}`;

/**
 * Leaves in variables which routes and priorities some entries have, each with its first due time. Without entries all are null,
 * and so are those of the leaps behind it.
 */
export const leap = (selected: string, { route, priority, read, heads }: LeapVariables): string => `
select max(g.rota_pronta), substring_index(group_concat(g.prioridade order by g.rota_pronta desc, g.prioridade), ',', 1),
  sum(g.entries), json_arrayagg(json_array(convert(g.rota_pronta using utf8mb4), g.prioridade, g.due))
into ${route}, ${priority}, ${read}, ${heads}
from (
  select e.rota_pronta, e.prioridade, cast(min(e.data_hora) as char) as due, count(*) as entries
  from (${selected}) e
  group by e.rota_pronta, e.prioridade
) g`;

/**
 * Whether a dead attempt waits that is not paused, and that this worker handles or no running one does. Parameters: those of
 * the lists.
 *
 * @param deadRoutes routes whose dead attempts this worker takes
 * @param handled routes whose dead attempts some running worker takes
 * @param everyTopic stands for every topic
 */
export function deadForUs(
  { queue, paused }: Pick<QueueTables, 'queue' | 'paused'>,
  deadRoutes: readonly string[],
  handled: readonly string[],
  everyTopic: string,
): Asked {
  const route = `cast(${plainRouteOf('f.')} as binary)`;
  const isTopic = 'f.subscriber_id is null';
  const isOneOf = (routes: readonly string[]): string => {
    const isListed = routes.length === 0 ? 'false' : `${route} in (?)`;
    return routes.includes(everyTopic) ? `(${isTopic} or ${isListed})` : isListed;
  };
  return {
    text: `-- name: dead_for_us
select exists (
  select 1 from ${queue} f force index (dead_ready)
  where f.morta_pronta is not null
    and not exists (select 1 from ${paused} p where p.route = ${route})
    and (${isOneOf(deadRoutes)} or not ${isOneOf(handled)})
) as found`,
    values: [deadRoutes, handled].filter(({ length }) => length > 0),
  };
}

/**
 * Routes whose dead attempts running workers take, an array of JSON each. A missing worker counts as running until it is confirmed
 * lost: its session may only be reconnecting, and an attempt that the default treatment has ended cannot be handled any more.
 */
export const handledDead = ({ workers }: Pick<QueueTables, 'workers'>): string =>
  named('handled_dead', `select w.dead_routes as routes from ${workers} w where w.stopped_at is null`);

/**
 * What an idle worker asks: whether a live attempt waits in one of the ranges, or a dead one anywhere; when the next scheduled one
 * is due; whether it holds rows that it does not know of, and whether it was told to stop (null when its row is gone). A range is one entry of the index,
 * however many tasks wait on others.
 */
export function idleLook(
  { queue, workers }: Pick<QueueTables, 'queue' | 'workers'>,
  ranges: readonly RouteRange[],
  workerId: string,
  asksHeld: boolean,
): Asked {
  const worker = 'cast(? as signed)';
  const isWithin = `exists (
    select 1 from ${queue} f force index (ready)
    where f.rota_pronta >= ? and f.rota_pronta < ? and not f.dead limit 1)`;
  const isPending = ranges.map(() => isWithin).join(' or ') || 'false';
  const holds = `exists (select 1 from ${queue} f force index (running) where f.executor_ativo = ${worker})`;
  return {
    text: `-- name: idle_look
select ${isPending} as pending,
  exists (select 1 from ${queue} f force index (dead_ready) where f.morta_pronta is not null) as dead,
  ${nextDueMs(queue)} as next_due_ms,
  ${asksHeld ? holds : 'false'} as holding,
  (select w.halt_at is not null from ${workers} w where w.id = ${worker}) as halted`,
    values: [
      ...ranges.flatMap(({ from, below }) => [from, below]),
      ...(asksHeld ? [workerId] : []),
      workerId,
    ],
  };
}

/** The routes that running workers serve, an array of JSON each. */
export const servedRoutes = ({ workers }: Pick<QueueTables, 'workers'>): string =>
  named(
    'served_routes',
    `select w.routes from ${workers} w where w.stopped_at is null and w.missed_at is null`,
  );

/** Subscriptions without a URL: their deliveries are for code. */
export const codeSubscriptions = (subscriptions: string): string =>
  named('code_subscriptions', `select s.id from ${subscriptions} s where s.url is null`);

/** The server's time. */
export const serverTime = named('server_time', `select ${now} as time`);
