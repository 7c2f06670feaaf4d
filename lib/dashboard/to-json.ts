import { taskState } from '../storage/columns.js';
import type { TaskRecord } from '../task.js';
import type { Route } from '../storage/attempt.js';
import type { HistoryCounts } from '../storage/history.js';
import type { Pause } from '../admin/pauses.js';
import type { QueueProblem } from '../admin/problems.js';
import type { Schedule } from '../admin/schedule-admin.js';
import type { Redaction } from '../redaction/redaction.js';
import type { EndedJson, ProblemJson, RouteJson, ScheduleJson, TaskJson, TextJson } from './api.js';

/** A time as the page reads it. */
export function timeJson(time: Date): string;
export function timeJson(time: Date | null): string | null;
export function timeJson(time: Date | null): string | null {
  return time === null || Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/**
 * Untrusted text without its secrets, that may be cut: in that order, because half a secret is not recognised.
 *
 * @param length characters it has in all, where `text` was cut before
 */
export function textJson(text: string, redaction: Redaction, most: number, length = 0): TextJson {
  return cutText(redaction.text(text).text, most, Math.max(length, text.length));
}

/** A text that is shown as it is, or the beginning of it. */
export function cutText(text: string, most: number, length = text.length): TextJson {
  return { text: text.slice(0, most), length };
}

/** A topic or subscription from the way its tasks go. */
export function routeJson(route: Route): RouteJson {
  const id = route.slice(2);
  return route.startsWith('s:')
    ? { topic: null, subscriptionId: id }
    : { topic: id === '' ? null : id, subscriptionId: null };
}

/** Which topic or subscription is paused. */
export function pauseJson(pause: Pause): RouteJson & { readonly since: string } {
  const since = timeJson(pause.since);
  return 'subscriptionId' in pause
    ? { topic: null, subscriptionId: pause.subscriptionId, since }
    : { topic: pause.topic, subscriptionId: null, since };
}

/** A problem as the page reads it. */
export function problemJson(problem: QueueProblem): ProblemJson {
  switch (problem.kind) {
    case 'paused':
      return { ...problem, since: timeJson(problem.since) };
    case 'open-circuit':
      return { ...problem, until: timeJson(problem.until) };
    default:
      return problem;
  }
}

/** What ended, of a stretch of time or of a route. */
export function countsJson({ succeeded, failed, buried, delivered, wait, run }: HistoryCounts): EndedJson {
  return {
    succeeded,
    failed,
    buried,
    delivered,
    waitP50: wait.p50,
    waitP95: wait.p95,
    waitP99: wait.p99,
    runP50: run.p50,
    runP95: run.p95,
  };
}

/** A schedule, without what its task holds. */
export function scheduleJson(schedule: Schedule): ScheduleJson {
  const { id, rule, task, declared, status, nextAt, lastAt, missed, pausedAt } = schedule;
  const { cron, every, timezone } = rule;
  return {
    ...{ id, cron, every, timezone, declared, status, missed },
    topic: task.topic,
    nextAt: timeJson(nextAt),
    lastAt: timeJson(lastAt),
    pausedAt: timeJson(pausedAt),
  };
}

const longestMessage = 2_000;

/** An attempt as lists show it. */
export function taskJson(task: TaskRecord, redaction: Redaction): TaskJson {
  return {
    id: task.id,
    firstAttemptId: task.firstAttemptId,
    attempt: task.attempt,
    status: taskState(task),
    topic: task.topic,
    subscriptionId: task.subscriptionId,
    dead: task.dead,
    liveId: task.liveId,
    publication: task.publication,
    publicationId: task.publicationId,
    externalKey: task.externalKey,
    tenant: task.tenant,
    group: task.group,
    origin: task.origin,
    destination: task.destination,
    priority: task.priority,
    firstDueAt: timeJson(task.firstDueAt),
    dueAt: timeJson(task.dueAt),
    startedAt: timeJson(task.startedAt),
    finishedAt: timeJson(task.finishedAt),
    nextAttemptAt: timeJson(task.nextAttemptAt),
    retried: task.retried,
    exhausted: task.exhausted,
    cancelledBy: task.cancelledBy,
    message: task.message === null ? null : textJson(task.message, redaction, longestMessage),
    unreadable: task.unreadable ?? [],
  };
}
