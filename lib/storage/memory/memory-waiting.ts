import type { Route } from '../attempt.js';
import { column } from '../columns.js';
import { everyTopic, isTopicRoute, namesOfRoute, webhookRoute } from '../route.js';
import type { WaitingRoute } from '../waiting-route.js';
import { dueMs, isPending, plainRouteOf, type MemoryRow } from './memory-row.js';
import type { MemoryTable, MemoryWorker } from './memory-table.js';

/** True for a dead attempt that needs no other worker than one with these routes of dead attempts, and is not paused. */
export function isDeadFor(table: MemoryTable, row: MemoryRow, deadRoutes: readonly Route[]): boolean {
  const route = plainRouteOf(row);
  const announced = row[column.subscriptionId] == null ? [route, everyTopic] : [route];
  const isAnnouncedBy = (routes: readonly Route[]): boolean => announced.some((one) => routes.includes(one));
  if (table.paused.has(route)) return false;
  const running = [...table.workers.values()].filter((worker) => worker.stoppedAt === undefined);
  return isAnnouncedBy(deadRoutes) || !running.some((worker) => isAnnouncedBy(worker.deadRoutes));
}

/** Routes whose attempts are due and wait, except paused ones. */
export function waitingRoutes(table: MemoryTable): readonly WaitingRoute[] {
  const alive = [...table.workers.values()].filter(isAlive);
  const since = new Map<Route, number>();
  for (const row of table.rows) {
    const [route, due] = [plainRouteOf(row), dueMs(row)];
    if (!isPending(row) || due > table.nowMs || table.paused.has(route)) continue;
    since.set(route, Math.min(since.get(route) ?? Infinity, due));
  }
  return [...since].map(([route, due]) => ({
    route,
    waitingMs: table.nowMs - due,
    served: alive.some(({ routes }) => serves(table, routes, route)),
    workerless: alive.length === 0,
  }));
}

function isAlive({ stoppedAt, missedAt }: MemoryWorker): boolean {
  return stoppedAt === undefined && missedAt === undefined;
}

/** Webhooks are delivered for subscriptions with a URL, and for those that are gone, whose deliveries carry it. */
function serves(table: MemoryTable, routes: readonly Route[], route: Route): boolean {
  if (routes.includes(route)) return true;
  if (isTopicRoute(route)) return routes.includes(everyTopic);
  const { subscriptionId } = namesOfRoute(route);
  const subscription = subscriptionId === null ? undefined : table.subscriptions.get(subscriptionId);
  return subscriptionId !== null && routes.includes(webhookRoute) && subscription?.url !== null;
}
