import type { QueueEvents, TaskReference } from '../queue.events.js';
import { describeRoute } from '../storage/route.js';
import { failureDetail, failureMessage } from '../worker/outcome.js';

/** What a logger must offer; Nest's `Logger` does. */
export interface LoggerLike {
  log(message: string): void;
  warn(message: string): void;
  error(message: string, stack?: string): void;
  debug(message: string): void;
}

/**
 * Writes a queue's events to a logger: what an operator must know once, and with `debug` every task. Ids and
 * messages only, never payloads.
 */
export function logEvents(events: QueueEvents, logger: LoggerLike, debug: boolean): void {
  events.on('worker.started', ({ workerId, routes }) =>
    logger.log(`worker ${workerId} started; it serves ${routes.map(describeRoute).join(', ')}`),
  );
  events.on('worker.stopped', ({ workerId, unfinished }) => {
    if (unfinished === 0) logger.log(`worker ${workerId} stopped`);
    else
      logger.warn(
        `worker ${workerId} stopped with ${unfinished} tasks unfinished: another worker recovers them`,
      );
  });
  events.on('task.failed', ({ task, message, nextAttemptInMs }) => {
    const next =
      nextAttemptInMs === undefined
        ? ''
        : `, next attempt in ${Math.max(0, nextAttemptInMs / 1000).toFixed(1)} s`;
    logger.warn(`${describe(task)} failed: ${message}${next}`);
  });
  events.on('task.buried', ({ task, deadId }) =>
    logger.error(`${describe(task)} ran out of attempts: its dead task is ${deadId}`),
  );
  events.on('task.recovered', ({ task, workerId }) =>
    logger.warn(`${describe(task)} is tried again: worker ${workerId} was lost`),
  );
  events.on('task.released', ({ task, reason }) =>
    logger.warn(`${describe(task)} was given back: ${reason}`),
  );
  events.on('task.lost', ({ task }) =>
    logger.warn(`the outcome of ${describe(task)} was refused: it belongs to another worker by now`),
  );
  events.on('webhook.opened', ({ subscriptionId, failures, forMs }) =>
    logger.warn(
      `the endpoint of subscription '${subscriptionId}' failed ${failures} times in a row: its deliveries rest for ${Math.ceil(forMs / 1_000)} s`,
    ),
  );
  events.on('webhook.closed', ({ subscriptionId }) =>
    logger.log(`the endpoint of subscription '${subscriptionId}' answers again`),
  );
  events.on('webhook.deactivated', ({ subscriptionId, reason }) =>
    logger.error(`subscription '${subscriptionId}' was deactivated: ${reason}`),
  );
  events.on('connection.lost', ({ connection, error }) =>
    logger.error(`the ${connection} connection was lost (${failureMessage(error)}); connecting again`),
  );
  events.on('connection.restored', ({ connection }) => logger.log(`the ${connection} connection is back`));
  events.on('worker.troubled', ({ workerId, error }) =>
    logger.error(
      `worker ${workerId} cannot go on, and tries again: ${failureMessage(error)}`,
      failureDetail(error),
    ),
  );
  events.on('worker.recovered', ({ workerId }) => logger.log(`worker ${workerId} goes on`));
  events.on('routine.failed', ({ routine, error }) =>
    logger.error(`the ${routine} routine failed, it runs again at its next turn`, failureDetail(error)),
  );
  events.on('warning', ({ message }) => logger.warn(message));
  events.on('notice', ({ message }) => logger.log(message));
  if (debug) logDetails(events, logger);
}

function logDetails(events: QueueEvents, logger: LoggerLike): void {
  events.on('task.claimed', ({ task }) => logger.debug(`${describe(task)} claimed`));
  events.on('task.completed', ({ task, message }) => logger.debug(`${describe(task)} completed: ${message}`));
  events.on('task.failed', ({ task, error }) =>
    logger.debug(`${describe(task)} threw ${failureDetail(error)}`),
  );
  events.on('tasks.promoted', ({ count }) => logger.debug(`${count} scheduled tasks promoted`));
  events.on('publication.delivered', ({ task, deliveries }) =>
    logger.debug(`${describe(task)} delivered to ${deliveries} subscriptions`),
  );
  events.on('routine.finished', ({ routine, affected }) =>
    logger.debug(`the ${routine} routine changed ${affected} rows`),
  );
}

function describe({ firstAttemptId, attempt, topic, subscriptionId, dead }: TaskReference): string {
  const route = subscriptionId === null ? topic : `${topic} -> ${subscriptionId}`;
  return `${dead ? 'dead ' : ''}task ${firstAttemptId} (${route ?? 'no topic'}) attempt ${attempt}`;
}
