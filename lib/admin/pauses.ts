import { readText } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import { readFields } from '../values/read-fields.js';
import { columnLength } from '../storage/columns.js';
import type { Pausable, Pause } from '../storage/pause.js';
import type { Route } from '../storage/attempt.js';
import { subscriptionRoute, topicRoute } from '../storage/route.js';

export type { Pausable, Pause };

/**
 * The route of a topic or subscription.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function pausableRoute(what: Pausable): Route {
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

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
