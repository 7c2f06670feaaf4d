import type { Route } from './storage.js';

/** The route of publications: they all go the same way, whatever their topic. */
export const publicationRoute: Route = 'p';

export function subscriptionRoute(subscriptionId: string): Route {
  return `s:${subscriptionId}`;
}

/** A task without topic travels on the route of the empty topic. */
export function topicRoute(topic: string | null): Route {
  return `t:${topic ?? ''}`;
}

/** A route in words, for logs and messages. */
export function describeRoute(route: Route): string {
  const id = route.slice(2);
  if (route === publicationRoute) return 'publications';
  if (route.startsWith('s:')) return `subscription '${id}'`;
  if (id === '*') return 'every other topic';
  return id === '' ? 'tasks without topic' : `topic '${id}'`;
}
