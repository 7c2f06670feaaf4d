import type { History, RouteHistory } from '../storage/history.js';
import type { FailingEndpoint } from '../storage/endpoints.js';
import type { Inconsistency, InconsistencyKind } from '../storage/inconsistencies.js';
import { namesOfRoute, plainRoute } from '../storage/route.js';
import type { StatusReport, WorkerStall } from '../storage/status-report.js';
import { restRoute } from '../observability/history/outcome-tally.js';

/** A topic or a subscription: both names are null for tasks without topic. */
interface OfRoute {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
}

/** Something an operator should know, told apart by its `kind`. */
export type QueueProblem =
  /** Tasks wait that no living worker serves. */
  | (OfRoute & {
      readonly kind: 'no-worker';
      readonly waitingMs: number;
      readonly count: number;
      readonly isCapped: boolean;
    })
  /** An active subscription without a URL that no worker serves. */
  | (OfRoute & { readonly kind: 'unheard' })
  /** Publications of the last hour that reached no subscription. */
  | (OfRoute & { readonly kind: 'discarded'; readonly count: number })
  | (OfRoute & { readonly kind: 'paused'; readonly since: Date; readonly count: number })
  /** Attempts of the last hour that failed because no process had a handler. */
  | (OfRoute & { readonly kind: 'unknown-handler'; readonly failures: number })
  /** Half of the attempts of the last hour failed, or more. */
  | (OfRoute & { readonly kind: 'failing'; readonly failed: number; readonly ended: number })
  | {
      readonly kind: 'lag-growing';
      readonly lagMs: number;
      readonly beforeMs: number;
      readonly overMs: number;
    }
  | {
      readonly kind: 'old-snapshot';
      readonly sinceMs: number | null;
      readonly transactions: number;
      readonly holder: string;
    }
  /** PostgreSQL's queue of notifications, from 0 to 1: when it is full, commits that notify are refused. */
  | { readonly kind: 'notify-full'; readonly usage: number }
  | {
      readonly kind: 'open-circuit';
      readonly subscriptionId: string;
      readonly until: Date;
      readonly failures: number;
    }
  | { readonly kind: 'deactivated'; readonly subscriptionId: string; readonly reason: string }
  | { readonly kind: 'lost-worker'; readonly workerId: string; readonly host: string; readonly pid: number }
  /** A worker of the process that asks may not claim, or cannot, and so takes no tasks. */
  | {
      readonly kind: 'stalled-worker';
      readonly workerId: string;
      readonly reason: string;
      readonly forMs: number;
    }
  | { readonly kind: 'late-scheduled'; readonly lateMs: number }
  /** Rows that must not be there, among the newest ones: what it means and what to do stands at `QueueAdmin.check()`. */
  | {
      readonly kind: 'inconsistent';
      readonly inconsistency: InconsistencyKind;
      readonly count: number;
      /** Attempts, at most ten. */
      readonly ids: readonly string[];
    }
  /** Tasks that gave up and that no dead handler has dealt with, or none yet. */
  | { readonly kind: 'untreated'; readonly count: number; readonly isCapped: boolean }
  /** A part of the report could not be read. */
  | { readonly kind: 'unread'; readonly section: string; readonly reason: string };

/** From what problems are found. */
export interface ProblemSources {
  readonly report: StatusReport;
  /** Of the last hour; undefined where it could not be read. */
  readonly history: History | undefined;
  readonly endpoints: readonly FailingEndpoint[];
  readonly inconsistencies: readonly Inconsistency[];
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
  inconsistencies,
  stalled,
}: ProblemSources): readonly QueueProblem[] {
  return [
    ...(stalled === undefined ? [] : [{ kind: 'stalled-worker', ...stalled } as const]),
    ...report.unserved.map((one): QueueProblem => ({ kind: 'no-worker', ...one })),
    ...report.unheard.map(({ id, topic }): QueueProblem => ({ kind: 'unheard', topic, subscriptionId: id })),
    ...lostWorkers(report),
    ...(history ? growingLag(report, history) : []),
    ...lateScheduled(report),
    ...inconsistencies.map(({ kind, count, ids }): QueueProblem => ({
      kind: 'inconsistent',
      inconsistency: kind,
      count,
      ids,
    })),
    ...untreated(report),
    ...oldSnapshot(report),
    ...fullNotifications(report),
    ...(history?.routes ?? []).flatMap(failingOf),
    ...endpoints.map(endpointProblem),
    ...pauses(report),
    ...report.unknown.map(({ section, reason }): QueueProblem => ({ kind: 'unread', section, reason })),
  ];
}

function lostWorkers({ workers }: StatusReport): readonly QueueProblem[] {
  return workers
    .filter(({ alive }) => alive === false)
    .map(({ id, host, pid }) => ({ kind: 'lost-worker', workerId: id, host, pid }));
}

/** The oldest task has waited for longer and longer: workers do not keep up, or stand still. */
function growingLag({ lagMs }: StatusReport, { points, stepMs }: History): readonly QueueProblem[] {
  if (lagMs < leastLagMs) return [];
  const before = points.slice(-1 - lagMinutes, -1).map((point) => point.lagMs);
  const known = before.filter((lag) => lag !== null);
  const first = known[0];
  if (first === undefined || known.length < 2 || lagMs <= first) return [];
  const isGrowing = known.every((lag, index) => index === 0 || lag >= (known[index - 1] ?? 0));
  if (!isGrowing) return [];
  return [{ kind: 'lag-growing', lagMs, beforeMs: first, overMs: lagMinutes * stepMs }];
}

function lateScheduled({ nextScheduled }: StatusReport): readonly QueueProblem[] {
  const late = -(nextScheduled?.inMs ?? 0);
  return late > lateMs ? [{ kind: 'late-scheduled', lateMs: late }] : [];
}

function untreated({ buried }: StatusReport): readonly QueueProblem[] {
  if (buried === null || buried.untreated === 0) return [];
  return [{ kind: 'untreated', count: buried.untreated, isCapped: buried.isCapped }];
}

function oldSnapshot({ oldestSnapshot: one }: StatusReport): readonly QueueProblem[] {
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

function fullNotifications({ notifyUsage: usage }: StatusReport): readonly QueueProblem[] {
  return usage !== null && usage >= muchUsage ? [{ kind: 'notify-full', usage }] : [];
}

function failingOf({
  route,
  succeeded,
  failed,
  delivered,
  unhandled,
}: RouteHistory): readonly QueueProblem[] {
  if (route === restRoute) return [];
  const names = namesOfRoute(plainRoute(route));
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
}: FailingEndpoint): QueueProblem {
  return restsUntil === null
    ? { kind: 'deactivated', subscriptionId, reason: deactivatedFor ?? '' }
    : { kind: 'open-circuit', subscriptionId, until: restsUntil, failures };
}

function pauses({ paused, counts }: StatusReport): readonly QueueProblem[] {
  return paused.map((pause) => {
    const { since } = pause;
    const { topic, subscriptionId } =
      'topic' in pause ? { ...pause, subscriptionId: null } : { ...pause, topic: null };
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
