import type { Route } from './attempt.js';

/** The route of publications: they share one, whatever their topic. */
export const publicationRoute: Route = 'p';
/** What the routes of deliveries begin with. */
export const subscriptionPrefix = 's:';
/** What the routes of other tasks begin with. */
export const topicPrefix = 't:';

export function subscriptionRoute(subscriptionId: string): Route {
  return subscriptionPrefix + subscriptionId;
}

/** A task without topic has the route of the empty topic. */
export function topicRoute(topic: string | null): Route {
  return topicPrefix + (topic ?? '');
}

/** What decides the route of an attempt. */
export interface RoutedAttempt {
  readonly publication: boolean;
  readonly dead: boolean;
  readonly subscriptionId: string | null;
  readonly topic: string | null;
  /** Workers lost in a row before it. */
  readonly losses: number;
}

/** The route of an attempt. Databases derive the same one in SQL, which a test compares with this. */
export function routeOf({ publication, dead, subscriptionId, topic, losses }: RoutedAttempt): Route {
  const plain = (): Route => {
    if (publication && !dead) return publicationRoute;
    return subscriptionId === null ? topicRoute(topic) : subscriptionRoute(subscriptionId);
  };
  return losses >= isolatingLosses ? isolatedRoute(plain()) : plain();
}

/** True for the routes of topics, and of tasks without one. */
export function isTopicRoute(route: Route): boolean {
  return route.startsWith(topicPrefix);
}

/** True for the routes of deliveries. */
export function isSubscriptionRoute(route: Route): boolean {
  return route.startsWith(subscriptionPrefix);
}

/** Announced by workers that take every topic. */
export const everyTopic: Route = topicRoute('*');

/** Announced by workers that deliver webhooks, whatever their subscriptions. */
export const webhookRoute: Route = 'w';

/** After this many workers lost in a row an attempt runs alone in its worker: it may be what kills them. */
export const isolatingLosses = 2;

/** What the routes of such attempts begin with. Sorts before all others. */
export const isolatedPrefix = '!';

/** The route of a route's isolated attempts. */
export function isolatedRoute(route: Route): Route {
  return isolatedPrefix + route;
}

/** The route that workers serve it by, isolated or not. */
export function plainRoute(route: Route): Route {
  return route.startsWith(isolatedPrefix) ? route.slice(isolatedPrefix.length) : route;
}

/** The topic or subscription of a route; both are null for publications and for tasks without topic. */
export function namesOfRoute(route: Route): {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
} {
  if (isSubscriptionRoute(route)) {
    return { topic: null, subscriptionId: route.slice(subscriptionPrefix.length) };
  }
  const topic = isTopicRoute(route) ? route.slice(topicPrefix.length) : '';
  return { topic: topic === '' ? null : topic, subscriptionId: null };
}

/** A route in words, for logs and messages. */
export function describeRoute(route: Route): string {
  if (route === publicationRoute) return 'publications';
  if (route === webhookRoute) return 'webhooks';
  if (route === everyTopic) return 'every other topic';
  const { topic, subscriptionId } = namesOfRoute(route);
  if (subscriptionId !== null) return `subscription '${subscriptionId}'`;
  return topic === null ? 'tasks without topic' : `topic '${topic}'`;
}
