import type { StatusReport } from '../storage/status-report.js';
import type { History, RouteHistory } from '../storage/history.js';
import type { WorkerStall } from '../worker/standstill.js';
import type { TroubledEndpoint } from '../storage/endpoints.js';
import { plainRoute } from '../storage/route.js';
import { restRoute } from '../observability/history/outcome-tally.js';
import { pauseJson, routeJson, timeJson } from './to-json.js';
import type { ProblemJson } from './api.js';

/** From what problems are found. */
export interface ProblemSources {
  readonly report: StatusReport;
  /** Of the last hour. */
  readonly history: History;
  readonly endpoints: readonly TroubledEndpoint[];
  /** Of the worker of this process. */
  readonly stalled: WorkerStall | undefined;
}

/** Shorter waits are not a problem, even while they grow. */
const leastLagMs = 60_000;
/** Minutes that are compared. */
const lagMinutes = 5;
const oldSnapshotMs = 10 * 60_000;
const oldSnapshotTransactions = 1_000_000;
/** A topic counts as failing when at least this many attempts ended in the hour, and half of them failed. */
const leastEnded = 10;
const lateMs = 60_000;
/** Of the queue of notifications. */
const muchUsage = 0.5;

/** What an operator should know, most urgent first. */
export function findProblems({
  report,
  history,
  endpoints,
  stalled,
}: ProblemSources): readonly ProblemJson[] {
  return [
    ...(stalled === undefined ? [] : [{ kind: 'stalled-worker', ...stalled } as const]),
    ...report.unserved.map((one): ProblemJson => ({ kind: 'no-worker', ...one })),
    ...report.unheard.map(({ id, topic }): ProblemJson => ({ kind: 'unheard', topic, subscriptionId: id })),
    ...lostWorkers(report),
    ...growingLag(report, history),
    ...lateScheduled(report),
    ...oldSnapshot(report),
    ...fullNotifications(report),
    ...history.routes.flatMap(troublesOf),
    ...endpoints.map(endpointProblem),
    ...pauses(report),
    ...report.unknown.map(({ section, reason }): ProblemJson => ({ kind: 'unread', section, reason })),
  ];
}

function lostWorkers({ workers }: StatusReport): readonly ProblemJson[] {
  return workers
    .filter(({ alive }) => alive === false)
    .map(({ id, host, pid }) => ({ kind: 'lost-worker', workerId: id, host, pid }));
}

/** The oldest task has waited for longer and longer: workers do not keep up, or stand still. */
function growingLag({ lagMs }: StatusReport, { points, stepMs }: History): readonly ProblemJson[] {
  if (lagMs < leastLagMs) return [];
  const before = points.slice(-1 - lagMinutes, -1).map((point) => point.lagMs);
  const known = before.filter((lag) => lag !== null);
  const first = known[0];
  if (first === undefined || known.length < 2 || lagMs <= first) return [];
  const isGrowing = known.every((lag, index) => index === 0 || lag >= (known[index - 1] ?? 0));
  if (!isGrowing) return [];
  return [{ kind: 'lag-growing', lagMs, beforeMs: first, overMs: lagMinutes * stepMs }];
}

function lateScheduled({ nextScheduled }: StatusReport): readonly ProblemJson[] {
  const late = -(nextScheduled?.inMs ?? 0);
  return late > lateMs ? [{ kind: 'late-scheduled', lateMs: late }] : [];
}

function oldSnapshot({ oldestSnapshot: one }: StatusReport): readonly ProblemJson[] {
  if (!one || ((one.sinceMs ?? 0) < oldSnapshotMs && one.transactions < oldSnapshotTransactions)) return [];
  const who = [
    one.name,
    one.applicationName,
    one.user,
    one.pid === null ? null : `pid ${one.pid}`,
    one.state,
  ];
  const holder = [one.kind, ...who.filter((part) => part !== null && part !== '')].join(', ');
  return [{ kind: 'old-snapshot', sinceMs: one.sinceMs, transactions: one.transactions, holder }];
}

function fullNotifications({ notifyUsage: usage }: StatusReport): readonly ProblemJson[] {
  return usage !== null && usage >= muchUsage ? [{ kind: 'notify-full', usage }] : [];
}

function troublesOf({
  route,
  succeeded,
  failed,
  delivered,
  unhandled,
}: RouteHistory): readonly ProblemJson[] {
  if (route === restRoute) return [];
  const names = routeJson(plainRoute(route));
  const ended = succeeded + failed;
  // Attempts without a handler and publications without a subscription stand in one number. A topic has publications or tasks.
  const discarded = Math.min(unhandled, delivered);
  const unregistered = unhandled - discarded;
  return [
    ...(discarded > 0 ? [{ kind: 'discarded', ...names, count: discarded } as const] : []),
    ...(unregistered > 0 ? [{ kind: 'unknown-handler', ...names, failures: unregistered } as const] : []),
    ...(ended >= leastEnded && failed * 2 >= ended && unregistered < failed
      ? [{ kind: 'failing', ...names, failed, ended } as const]
      : []),
  ];
}

function endpointProblem({
  subscriptionId,
  failures,
  restsUntil,
  deactivatedFor,
}: TroubledEndpoint): ProblemJson {
  return restsUntil === null
    ? { kind: 'deactivated', subscriptionId, reason: deactivatedFor ?? '' }
    : { kind: 'open-circuit', subscriptionId, until: timeJson(restsUntil), failures };
}

function pauses({ paused, counts }: StatusReport): readonly ProblemJson[] {
  return paused.map((pause) => {
    const { topic, subscriptionId, since } = pauseJson(pause);
    const waiting = counts.filter(
      (one) =>
        one.status === 'pending' &&
        (subscriptionId === null
          ? one.subscriptionId === null && one.topic === topic
          : one.subscriptionId === subscriptionId),
    );
    return {
      kind: 'paused',
      topic,
      subscriptionId,
      since,
      count: waiting.reduce((sum, one) => sum + one.count, 0),
    };
  });
}
