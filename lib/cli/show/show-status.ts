import type { QueueStatus } from '../../admin/queue-status.js';
import type { StatusCount, StatusReport, StatusTask } from '../../storage/status-report.js';
import { describeRoute } from '../../storage/route.js';
import type { TaskState } from '../../task.js';
import type { Output } from '../output/output.js';
import { readableBytes, readableCount, readableDuration, readableTopic } from '../output/readable.js';
import type { Cell } from '../output/text-table.js';
import { showProblems } from './show-problems.js';

/** Running attempts that are shown; `--json` shows more. */
const mostRunning = 20;
/** A snapshot that is younger holds nothing back that counts. */
const youngSnapshotMs = 5_000;
/** Less of the queue of notifications is always in use. */
const leastUsage = 0.01;

/** A report for people. */
export function showStatus(output: Output, report: QueueStatus): void {
  output.line(`${report.table} at ${output.time(report.at)}, ${report.serverVersion}`);
  output.line(`lag             ${lagText(report)}`);
  const { nextScheduled: next } = report;
  if (next) {
    const when =
      next.inMs >= 0 ? `in ${readableDuration(next.inMs)}` : `late by ${readableDuration(-next.inMs)}`;
    output.line(`next scheduled  ${when}: ${nameOf(next)}`);
  }
  const { purgeable } = report;
  if (purgeable) {
    const rows = readableCount(purgeable.count, purgeable.isCapped);
    output.line(
      `to purge        ${rows} rows of tasks that ended more than ${report.purgeMaxAgeDays} days ago`,
    );
  }
  showBuried(output, report);
  showCounts(output, report);
  showRunning(output, report);
  showWorkers(output, report);
  showProblems(output, report.problems);
  showSize(output, report);
  showSnapshot(output, report);
  showNotifications(output, report);
}

/** Said once there are some. */
function showBuried(output: Output, { buried }: StatusReport): void {
  if (buried === null || buried.treated + buried.untreated === 0) return;
  const { treated, untreated, isCapped } = buried;
  output.line(
    `gave up         ${readableCount(untreated, isCapped)} untreated, ${readableCount(treated, isCapped)} treated by dead handlers`,
  );
}

function lagText({ lagMs, oldestPending: oldest, unknown }: StatusReport): string {
  if (unknown.some(({ section }) => section === 'lag')) return 'unknown';
  if (lagMs === 0) return 'none: no due task is waiting';
  return `${readableDuration(lagMs)}${oldest ? `: ${nameOf(oldest)}` : ''}`;
}

function nameOf({ firstAttemptId, topic, subscriptionId, dead }: StatusTask): string {
  const receiver = subscriptionId === null ? '' : ` for ${subscriptionId}`;
  return `task ${firstAttemptId}, ${readableTopic(topic, dead)}${receiver}`;
}

const statuses: readonly (readonly [TaskState, string])[] = [
  ['scheduled', 'scheduled'],
  ['retrying', 'retrying'],
  ['pending', 'pending'],
  ['processing', 'running'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
];

/** One line for a topic and subscription, a column for each status. */
function showCounts(output: Output, { counts, endedSince }: StatusReport): void {
  const lines = new Map<string, StatusCount[]>();
  for (const one of counts) {
    const key = JSON.stringify([one.topic, one.subscriptionId, one.dead]);
    lines.set(key, [...(lines.get(key) ?? []), one]);
  }
  output.line();
  output.table(
    ['topic', 'subscription', ...statuses.map(([, title]) => title)],
    [...lines.values()].map((line): Cell[] => [
      readableTopic(line[0]?.topic ?? null, line[0]?.dead),
      line[0]?.subscriptionId,
      ...statuses.map(([status]) => {
        const found = line.find((one) => one.status === status);
        return found && { status, text: readableCount(found.count, found.isCapped) };
      }),
    ]),
  );
  output.line(`(succeeded, failed and cancelled: due since ${output.time(endedSince)})`);
}

function showRunning(output: Output, { running, runningTotal }: StatusReport): void {
  if (running.length === 0) return;
  output.line();
  output.table(
    ['running', 'topic', 'subscription', 'attempt', 'for', 'worker'],
    running
      .slice(0, mostRunning)
      .map(({ firstAttemptId, topic, dead, subscriptionId, attempt, runningMs, workerId, host, pid }) => [
        firstAttemptId,
        readableTopic(topic, dead),
        subscriptionId,
        attempt,
        readableDuration(runningMs),
        workerId === null ? 'another program' : `${workerId}${host === null ? '' : ` (${host}, pid ${pid})`}`,
      ]),
  );
  const more = runningTotal.count - mostRunning;
  if (more > 0) output.line(`(and ${readableCount(more, runningTotal.isCapped)} more)`);
}

function showWorkers(output: Output, { workers }: StatusReport): void {
  output.line();
  if (workers.length === 0) output.line('no worker is alive');
  output.table(
    ['worker', 'host', 'pid', 'version', 'slots', 'alive', 'started', 'serves'],
    workers.map(
      ({ id, host, pid, version, concurrency, alive, startedAt, routes, missedAt, parent, output: file }) => [
        id,
        host,
        pid,
        version,
        concurrency,
        alive === false
          ? `no${missedAt ? `, missed since ${output.time(missedAt)}` : ''}`
          : `by its ${alive}`,
        startedAt,
        parent === null
          ? routes.map(describeRoute).join(', ')
          : `a detached attempt, started by worker ${parent}; output in ${file}`,
      ],
    ),
  );
}

function showSize(output: Output, { size }: StatusReport): void {
  if (!size) return;
  const { tableBytes, indexBytes, liveRows, deadRows, partitions, vacuumedAt, indexes } = size;
  output.line();
  output.line(
    `table ${readableBytes(tableBytes)}${partitions > 0 ? ` in ${partitions} partitions` : ''}, indexes ${readableBytes(indexBytes)}; ` +
      `about ${readableCount(liveRows)} rows, ${readableCount(deadRows)} dead; ` +
      (vacuumedAt ? `last cleaned ${output.time(vacuumedAt)}` : 'never cleaned'),
  );
  output.table(
    ['index', 'size', ''],
    indexes.map(({ name, bytes, valid }) => [name, readableBytes(bytes), valid ? null : 'invalid']),
  );
}

/** Said once it is more than what is always in use, unless it is a problem by now. */
function showNotifications(output: Output, { notifyUsage: usage, problems }: QueueStatus): void {
  if (usage === null || usage < leastUsage || problems.some(({ kind }) => kind === 'notify-full')) return;
  output.line(
    `PostgreSQL's notification queue is ${Math.round(usage * 100)}% full: a listening session keeps a transaction open`,
  );
}

/** Who it is, in all that is known of it, also before it is a problem. */
function showSnapshot(output: Output, { oldestSnapshot: holder, seesAllSessions }: StatusReport): void {
  if (holder && (holder.sinceMs === null || holder.sinceMs >= youngSnapshotMs)) {
    const { kind, pid, name, applicationName, user, state, sinceMs, transactions } = holder;
    const facts = [
      pid === null ? undefined : `pid ${pid}`,
      applicationName ? `application ${applicationName}` : undefined,
      user === null ? undefined : `user ${user}`,
      state ?? undefined,
      sinceMs === null ? undefined : `open for ${readableDuration(sinceMs)}`,
    ].filter((fact) => fact !== undefined);
    output.line(
      `dead rows cannot be removed: ${kind}${name === null ? '' : ` ${name}`} holds a snapshot ` +
        `${readableCount(transactions)} ${transactions === 1 ? 'transaction' : 'transactions'} old (${facts.join(', ')})`,
    );
  }
  if (!seesAllSessions) {
    output.line(
      '(snapshots of other roles are not visible: that requires pg_read_all_stats, on MySQL and MariaDB the PROCESS privilege)',
    );
  }
}
