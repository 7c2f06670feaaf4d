import type { Route } from './attempt.js';
import type { RouteRange } from './waiting-route.js';

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
  /** The key (`chave_fila`) that makes a route of its own; null or undefined without one. */
  readonly key?: string | null | undefined;
  /** Workers lost in a row before it. */
  readonly losses: number;
}

/** The route of an attempt. Databases derive the same one in SQL, which a test compares with this. */
export function routeOf({ publication, dead, subscriptionId, topic, key, losses }: RoutedAttempt): Route {
  const named = subscriptionId === null ? topicPrefix + (topic ?? '') : subscriptionPrefix + subscriptionId;
  const plain = publication && !dead ? publicationRoute : named;
  if (losses >= isolatingLosses) return isolatedRoute(plain);
  return key == null ? plain : plain + keySeparator + key;
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

/** Separates the route of a topic or subscription from a key. */
export const keySeparator = '\u001f';

/** Where the routes of a route's keys lie, and the route itself. */
export function keyedRange(route: Route): RouteRange {
  return { from: route, below: route + afterKeySeparator };
}

/** Where all routes lie that begin so. */
export function routesAfter(prefix: string): RouteRange {
  const last = prefix.length - 1;
  return { from: prefix, below: prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1) };
}

/** Where the isolated routes of such a range lie. */
export function isolatedRange({ from, below }: RouteRange): RouteRange {
  return { from: isolatedRoute(from), below: isolatedRoute(below) };
}

/** Where the keys of a route lie, without the route itself. */
export function keyRange(route: Route): RouteRange {
  return { from: route + keySeparator, below: route + afterKeySeparator };
}

/** The next character: all keys of a route sort before it. */
const afterKeySeparator = '\u0020';

/** The route that workers serve it by: without its key, isolated or not. */
export function plainRoute(route: Route): Route {
  const end = route.indexOf(keySeparator);
  const start = route.startsWith(isolatedPrefix) ? isolatedPrefix.length : 0;
  if (end < 0) return start === 0 ? route : route.slice(start);
  return route.slice(start, end);
}

/** The topic or subscription of a route; both are null for publications and for tasks without a topic. */
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
  return topic === null ? 'tasks without a topic' : `topic '${topic}'`;
}
