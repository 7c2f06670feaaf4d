import type { QueueEventMap, QueueEventName, TaskReference } from '../events.js';
import { inconsistencyText, mostNamed } from '../storage/inconsistencies.js';
import { describeRoute } from '../storage/route.js';
import { eventLoopLink } from '../values/docs-link.js';
import { errorStack, errorText, isOpaque } from './error-text.js';
import type { LogFields, LogLine } from './log-line.js';

type Lines = { readonly [Name in QueueEventName]?: (event: QueueEventMap[Name]) => LogLine };

const line = (
  level: LogLine['level'],
  component: LogLine['component'],
  text: string,
  fields: LogFields = {},
  stack?: string,
): LogLine => ({ level, component, text, fields, stack });

/** What an operator must know, event by event. Ids and messages only, never payloads. */
export const eventLines: Lines = {
  'dashboard.action': ({ action, target, actor, refused }) => {
    const text = `${actor ?? 'somebody'} asked the dashboard to ${action} ${target}`;
    const fields = { action, target, actor: actor ?? undefined, refused };
    return refused === undefined
      ? line('log', 'dashboard', text, fields)
      : line('warn', 'dashboard', `${text}, which was refused: ${refused}`, fields);
  },
  'worker.started': ({ workerId, routes }) =>
    line('log', 'worker', `worker ${workerId} started; it serves ${routes.map(describeRoute).join(', ')}`, {
      workerId,
    }),
  'worker.stopped': ({ workerId, unfinished }) =>
    unfinished === 0
      ? line('log', 'worker', `worker ${workerId} stopped`, { workerId, unfinished })
      : line(
          'warn',
          'worker',
          `worker ${workerId} stopped with ${unfinished} tasks unfinished: another worker will recover them`,
          { workerId, unfinished },
        ),
  'worker.error': ({ workerId, error }) => {
    const message = errorText(error);
    return line(
      'error',
      'worker',
      `worker ${workerId} hit a database error and is retrying: ${message}`,
      { workerId, error: message },
      errorStack(error),
    );
  },
  'worker.recovered': ({ workerId }) => line('log', 'worker', `worker ${workerId} recovered`, { workerId }),
  'worker.stalled': ({ workerId, reason, forMs }) =>
    line(
      'error',
      'worker',
      `worker ${workerId} has been stalled for ${Math.round(forMs / 1_000)} s and takes no tasks: ${reason}`,
      { workerId, reason, stalledMs: forMs },
    ),
  'loop.blocked': ({ workerId, blockedMs, tasks }) => {
    const named = tasks.slice(0, mostNamed).map(describe).join(', ');
    const more = tasks.length > mostNamed ? ` and ${tasks.length - mostNamed} more` : '';
    return line(
      'warn',
      'worker',
      `the event loop was blocked for ${blockedMs} ms while ${named}${more} ran: a handler that computes ` +
        `or waits synchronously blocks everything else. Await in between, or isolate it: ${eventLoopLink()}`,
      { workerId, blockedMs, tasks: tasks.length },
    );
  },
  'task.failed': ({ task, message, error, nextAttemptInMs }) => {
    const said = isOpaque(error) ? errorText(error) : message;
    const next =
      nextAttemptInMs === undefined
        ? ''
        : `, next attempt in ${Math.max(0, nextAttemptInMs / 1000).toFixed(1)} s`;
    return line('warn', 'tasks', `${describe(task)} failed: ${said}${next}`, {
      ...fieldsOf(task),
      error: said,
      nextAttemptInMs: nextAttemptInMs === undefined ? undefined : Math.max(0, Math.round(nextAttemptInMs)),
    });
  },
  'task.snoozed': ({ task, message, dueInMs }) =>
    line(
      'debug',
      'tasks',
      `${describe(task)} waits another ${Math.max(0, dueInMs / 1_000).toFixed(1)} s: ${message}`,
      { ...fieldsOf(task), reason: message, dueInMs: Math.max(0, Math.round(dueInMs)) },
    ),
  'task.cancelled': ({ task, by, message }) =>
    line('log', 'tasks', `${describe(task)} was cancelled${byWhom(by)}: ${message}`, {
      ...fieldsOf(task),
      by: by ?? undefined,
      reason: message,
    }),
  'tasks.cancelled': ({ count, by, message }) =>
    line('log', 'tasks', `${count} tasks were cancelled${byWhom(by)}: ${message}`, {
      count,
      by: by ?? undefined,
      reason: message,
    }),
  'task.buried': ({ task, deadId }) =>
    line('error', 'tasks', `${describe(task)} ran out of attempts: its dead task is ${deadId}`, {
      ...fieldsOf(task),
      deadTaskId: deadId,
    }),
  'task.recovered': ({ task, workerId }) =>
    line('warn', 'tasks', `${describe(task)} is being retried: worker ${workerId} was lost`, {
      ...fieldsOf(task),
      lostWorkerId: workerId,
    }),
  'task.released': ({ task, reason }) =>
    line('warn', 'tasks', `${describe(task)} was returned to the queue: ${reason}`, {
      ...fieldsOf(task),
      reason,
    }),
  'task.lost': ({ task }) =>
    line(
      'warn',
      'tasks',
      `the outcome of ${describe(task)} was refused: it now belongs to another worker`,
      fieldsOf(task),
    ),
  'tasks.unserved': ({ topic, subscriptionId, waitingMs }) => {
    const name = subscriptionId === null ? topicText(topic) : `subscription '${subscriptionId}'`;
    const decorator = subscriptionId === null ? 'TaskHandler' : 'Subscriber';
    return line(
      'warn',
      'tasks',
      `${name} has been waiting for ${Math.round(waitingMs / 1_000)} s, but no running worker serves it: start the worker that ` +
        `has its @${decorator}, or correct the name`,
      { topic, subscriptionId, waitingMs },
    );
  },
  'table.inconsistent': ({ kind, ids, mended, refused }) => {
    const what = inconsistencyText({ kind, count: ids.length, ids: ids.slice(0, mostNamed) });
    const then = mended
      ? 'The next attempt is inserted now. Look for a trigger or a program that deletes rows'
      : `${refused === undefined ? '' : `It cannot be inserted: ${refused}. `}See \`tarefa check --help\``;
    return line('error', 'tasks', `${what}. ${then}`, { kind, ids: ids.join(','), mended, error: refused });
  },
  'webhook.opened': ({ subscriptionId, failures, forMs }) =>
    line(
      'warn',
      'webhooks',
      `the endpoint of subscription '${subscriptionId}' failed ${failures} times in a row: its deliveries rest for ${Math.ceil(forMs / 1_000)} s`,
      { subscriptionId, failures, restMs: Math.round(forMs) },
    ),
  'webhook.closed': ({ subscriptionId }) =>
    line('log', 'webhooks', `the endpoint of subscription '${subscriptionId}' answers again`, {
      subscriptionId,
    }),
  'webhook.deactivated': ({ subscriptionId, reason }) =>
    line('error', 'webhooks', `subscription '${subscriptionId}' was deactivated: ${reason}`, {
      subscriptionId,
      reason,
    }),
  'tenant.failed': ({ tenant, message }) => line('warn', 'tenants', message, { tenant }),
  'tenant.restored': ({ tenant }) =>
    line('log', 'tenants', `the database of tenant ${tenant} is available again`, { tenant }),
  'connection.lost': ({ connection, error }) => {
    const message = errorText(error);
    return line('error', 'connection', `the ${connection} connection was lost (${message}); reconnecting`, {
      connection,
      error: message,
    });
  },
  'connection.restored': ({ connection }) =>
    line('log', 'connection', `the ${connection} connection is back`, { connection }),
  'routine.failed': ({ routine, error }) => {
    const message = errorText(error);
    return line(
      'error',
      'routines',
      `the ${routine} routine failed and will run again at its next turn: ${message}`,
      { routine, error: message },
      errorStack(error),
    );
  },
  warning: ({ message }) => line('warn', 'queue', message),
  notice: ({ message }) => line('log', 'queue', message),
};

/** Lines for who looks for a mistake: what becomes of every task. */
export const detailLines: Lines = {
  'task.claimed': ({ task }) => line('debug', 'tasks', `${describe(task)} claimed`, fieldsOf(task)),
  'task.completed': ({ task, message }) =>
    line('debug', 'tasks', `${describe(task)} completed: ${message}`, { ...fieldsOf(task), result: message }),
  'task.failed': ({ task, error }) =>
    line(
      'debug',
      'tasks',
      `${describe(task)} threw ${errorText(error)}`,
      { ...fieldsOf(task), error: errorText(error) },
      errorStack(error),
    ),
  'tasks.promoted': ({ count }) => line('debug', 'tasks', `${count} scheduled tasks promoted`, { count }),
  'publication.delivered': ({ task, deliveries }) =>
    line('debug', 'tasks', `${describe(task)} delivered to ${deliveries} subscriptions`, {
      ...fieldsOf(task),
      deliveries,
    }),
  'routine.finished': ({ routine, affected, durationMs }) =>
    line('debug', 'routines', `the ${routine} routine changed ${affected} rows in ${durationMs} ms`, {
      routine,
      affected,
      durationMs,
    }),
};

function topicText(topic: string | null): string {
  return topic === null ? 'a task without topic' : `topic '${topic}'`;
}

function byWhom(by: string | null): string {
  return by === null ? '' : ` by ${by}`;
}

function describe({ firstAttemptId, attempt, topic, subscriptionId, dead }: TaskReference): string {
  const route = subscriptionId === null ? topic : `${topic} -> ${subscriptionId}`;
  return `${dead ? 'dead ' : ''}task ${firstAttemptId} (${route ?? 'no topic'}) attempt ${attempt}`;
}

function fieldsOf({ id, firstAttemptId, attempt, topic, subscriptionId, dead }: TaskReference): LogFields {
  return { taskId: firstAttemptId, attemptId: id, attempt, topic, subscriptionId, dead: dead || undefined };
}
