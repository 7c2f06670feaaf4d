import type { Route } from '../attempt.js';
import {
  everyTopic,
  isSubscriptionRoute,
  isTopicRoute,
  namesOfRoute,
  plainRoute,
  webhookRoute,
} from '../route.js';
import type { WaitingRoute } from '../waiting-route.js';
import type { Run } from './connections/transactions.js';
import type { QueueTables } from './identifiers.js';
import { pausedRoutes } from './statements/look.js';
import { codeSubscriptions, nextPriority, servedRoutes, serverTime } from './statements/waiting.js';
import { walkRoutes } from './walk-routes.js';

/** At most this many pairs of a route and a priority are looked at. */
const mostPlaces = 10_000;

/** All routes. */
export const everyRoute = { from: '', below: '\u{10ffff}' };

/**
 * Reads which routes have attempts that are due and are not paused, how long the one has waited that is due for longest, and whether a
 * running worker serves them.
 *
 * @param run runs statements on one connection, outside of transactions
 */
export async function readWaiting(run: Run, tables: QueueTables): Promise<readonly WaitingRoute[]> {
  const heads = await walkRoutes(run, tables.queue, [everyRoute], mostPlaces, nextPriority);
  if (heads.length === 0) return [];
  const text = [serverTime, pausedRoutes(tables), servedRoutes(tables)].join(';\n');
  const [time, paused, served] = await run(text);
  const nowMs = Date.parse(time?.rows[0]?.['time'] ?? '');
  const isPaused = new Set(paused?.rows.map(({ route }) => route));
  const announced = (served?.rows ?? []).map(({ routes }) => new Set(JSON.parse(routes ?? '[]') as Route[]));
  const since = new Map<Route, number>();
  for (const head of heads) {
    const [route, due] = [plainRoute(head.route), timeMs(head.due)];
    if (due > nowMs || isPaused.has(route)) continue;
    since.set(route, Math.min(since.get(route) ?? Infinity, due));
  }
  const isForCode = await readCodeSubscriptions(run, tables, [...since.keys()], announced);
  return [...since].map(([route, due]) => ({
    route,
    waitingMs: nowMs - due,
    served: announced.some((routes) => serves(routes, route, isForCode)),
    workerless: announced.length === 0,
  }));
}

/** Ms since 1970 of a time as the server writes it in a variable. */
export function timeMs(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}Z`) || -Infinity;
}

/** Only where it matters: deliveries wait, and some worker delivers webhooks. */
async function readCodeSubscriptions(
  run: Run,
  { subscriptions }: QueueTables,
  routes: readonly Route[],
  announced: readonly ReadonlySet<Route>[],
): Promise<ReadonlySet<string>> {
  const matters = routes.some(isSubscriptionRoute) && announced.some((one) => one.has(webhookRoute));
  if (!matters || subscriptions === undefined) return new Set();
  const [answer] = await run(codeSubscriptions(subscriptions));
  return new Set(answer?.rows.map(({ id }) => String(id)));
}

/** Webhooks are delivered for subscriptions with a URL, and for those that are gone, whose deliveries carry it. */
function serves(routes: ReadonlySet<Route>, route: Route, isForCode: ReadonlySet<string>): boolean {
  if (routes.has(route)) return true;
  if (isTopicRoute(route)) return routes.has(everyTopic);
  const { subscriptionId } = namesOfRoute(route);
  return subscriptionId !== null && routes.has(webhookRoute) && !isForCode.has(subscriptionId);
}
