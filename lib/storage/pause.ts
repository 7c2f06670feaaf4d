import type { Route } from './attempt.js';
import { namesOfRoute } from './route.js';

/** What may be paused: a topic (null: tasks without one), or a subscription. */
export type Pausable = { readonly topic: string | null } | { readonly subscriptionId: string };

/** What is paused, and since when. */
export type Pause = Pausable & { readonly since: Date };

/** The pause of a route. */
export function pauseOf(route: Route, since: Date): Pause {
  const { topic, subscriptionId } = namesOfRoute(route);
  return subscriptionId === null ? { topic, since } : { subscriptionId, since };
}
