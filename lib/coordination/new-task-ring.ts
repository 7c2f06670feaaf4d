import { ringText, type RingRequest } from './ring.js';
import type { Route } from '../storage/attempt.js';
import { defaultPriority, type NewTask } from '../storage/inserts.js';
import { routeOf } from '../storage/route.js';

/** The ring for tasks that were just inserted. */
export function ringFor(tasks: readonly NewTask[], sentAt: number): RingRequest {
  let [dueMs, highest, later] = [Infinity, -Infinity, false];
  const [first] = tasks;
  const isOneRoute = tasks.every(
    ({ topic, publication }) => publication === first?.publication && (publication || topic === first.topic),
  );
  let route: Route | undefined;
  if (first && isOneRoute) {
    const { topic, publication } = first;
    route = routeOf({ publication, dead: false, subscriptionId: null, topic, losses: 0 });
  }
  for (const { dueAt, delayMs, priority } of tasks) {
    if (dueAt !== null) dueMs = Math.min(dueMs, Date.parse(dueAt) || 0);
    highest = Math.max(highest, priority ?? defaultPriority);
    later ||= dueAt !== null || Boolean(delayMs);
  }
  return {
    later,
    highest,
    sentAt,
    ...(dueMs === Infinity ? {} : { dueMs }),
    ...(route === undefined ? {} : { route }),
  };
}

/** What a ring for one task says after the time. */
export function ringTextFor(task: NewTask): string {
  const ring = ringFor([task], 0);
  return ringText(String(ring.highest ?? defaultPriority), ring);
}
