import { readText } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import { readFields } from '../values/read-fields.js';
import { columnLength, readDate } from '../storage/columns.js';
import { subscriptionRoute, topicRoute } from '../storage/route.js';

/** What may be paused: a topic (null: tasks without one), or a subscription. */
export type Pausable = { readonly topic: string | null } | { readonly subscriptionId: string };

/** What is paused, and since when. */
export type Pause = Pausable & { readonly since: Date };

/**
 * The route of a topic or subscription.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function routeOf(what: Pausable): string {
  const { topic, subscriptionId } = readFields('what to pause or resume', what, ['topic', 'subscriptionId']);
  if (topic !== undefined && subscriptionId !== undefined) {
    throw invalid('pause a topic or a subscription, not both in one call');
  }
  if (topic === null) return topicRoute(null);
  if (topic !== undefined) return topicRoute(readText('topic', topic, columnLength.topic));
  const id = readText('subscriptionId', subscriptionId, columnLength.subscriptionId);
  if (id) return subscriptionRoute(id);
  throw invalid('name what to pause or resume: { topic } or { subscriptionId }');
}

/** Reads a row of `list_paused`. */
export function readPause(row: Readonly<Record<string, unknown>>): Pause {
  const route = String(row['route']);
  const since = readDate(row['paused_at']) ?? new Date(Number.NaN);
  const id = route.slice(2);
  return route.startsWith('s:') ? { subscriptionId: id, since } : { topic: id === '' ? null : id, since };
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
