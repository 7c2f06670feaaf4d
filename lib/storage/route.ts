import type { Route } from './attempt.js';

/** The route of publications: they all go the same way, whatever their topic. */
export const publicationRoute: Route = 'p';

export function subscriptionRoute(subscriptionId: string): Route {
  return `s:${subscriptionId}`;
}

/** A task without topic travels on the route of the empty topic. */
export function topicRoute(topic: string | null): Route {
  return `t:${topic ?? ''}`;
}

/** Announced by workers that take every topic. */
export const everyTopic: Route = topicRoute('*');

/** Announced by workers that deliver webhooks, whatever their subscriptions. */
export const webhookRoute: Route = 'w';

/** After so many workers lost in a row an attempt is run alone in its worker: it may be what kills them. */
export const isolatingLosses = 2;

/** What the routes of such attempts begin with. Sorts before all others. */
export const isolatedPrefix = '!';

/** The way that a route's isolated attempts go. */
export function isolatedRoute(route: Route): Route {
  return isolatedPrefix + route;
}

/** The route of those that serve it, isolated or not. */
export function plainRoute(route: Route): Route {
  return route.startsWith(isolatedPrefix) ? route.slice(isolatedPrefix.length) : route;
}

/** The topic or subscription of a route; both are null for publications and for tasks without topic. */
export function namesOfRoute(route: Route): {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
} {
  const id = route.slice(2);
  if (route.startsWith('s:')) return { topic: null, subscriptionId: id };
  return { topic: route.startsWith('t:') && id !== '' ? id : null, subscriptionId: null };
}

/** A route in words, for logs and messages. */
export function describeRoute(route: Route): string {
  const id = route.slice(2);
  if (route === publicationRoute) return 'publications';
  if (route === webhookRoute) return 'webhooks';
  if (route.startsWith('s:')) return `subscription '${id}'`;
  if (id === '*') return 'every other topic';
  return id === '' ? 'tasks without topic' : `topic '${id}'`;
}
