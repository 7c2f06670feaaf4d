import { everyTopic, subscriptionRoute, topicRoute, webhookRoute } from './route.js';
import { unservedMs } from './waiting-route.js';
import type { StatusReport, UnheardSubscription, UnservedCount } from './status-report.js';

type Seen = Pick<StatusReport, 'waiting' | 'counts' | 'workers' | 'paused'>;

/** Routes that living workers have said they serve. */
export function servedRoutes(workers: StatusReport['workers']): readonly string[] {
  return [...new Set(workers.filter(({ alive }) => alive !== false).flatMap(({ routes }) => routes))];
}

/**
 * Topics and subscriptions whose tasks wait while no living worker serves them, but for paused ones.
 *
 * @param unheard subscriptions without a URL that no worker names: workers that deliver webhooks do not serve them
 */
export function findUnserved(
  { waiting, counts, workers, paused }: Seen,
  unheard: readonly UnheardSubscription[],
): readonly UnservedCount[] {
  const isAnyAlive = workers.some(({ alive }) => alive !== false);
  const served = new Set(servedRoutes(workers));
  const withoutUrl = new Set(unheard.map(({ id }) => id));
  const isPaused = new Set(
    paused.map((one) =>
      'subscriptionId' in one ? subscriptionRoute(one.subscriptionId) : topicRoute(one.topic),
    ),
  );
  return waiting.flatMap(({ topic, subscriptionId, publication, waitingMs }): readonly UnservedCount[] => {
    const route = subscriptionId === null ? topicRoute(topic) : subscriptionRoute(subscriptionId);
    const byAny =
      subscriptionId === null
        ? served.has(everyTopic)
        : served.has(webhookRoute) && !withoutUrl.has(subscriptionId);
    // Publications need no handler: any worker delivers them.
    const isServed = isAnyAlive && (publication || served.has(route) || byAny);
    if (waitingMs < unservedMs || isServed || isPaused.has(route)) return [];
    const same = counts.filter(
      (one) => one.status === 'pending' && one.topic === topic && one.subscriptionId === subscriptionId,
    );
    const count = same.reduce((sum, one) => sum + one.count, 0);
    return [{ topic, subscriptionId, waitingMs, count, isCapped: same.some(({ isCapped }) => isCapped) }];
  });
}
