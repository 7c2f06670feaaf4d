import type { QueueStatus, StatusReader } from '../admin/queue-status.js';
import type { QueueReports } from '../storage/reports.js';
import type { StatusReport } from '../storage/status-report.js';
import { everyTopic, webhookRoute } from '../storage/route.js';
import type { TaskState } from '../task.js';
import { kept } from '../timing/kept.js';
import type { CountJson, CountsJson, OverviewJson, RunningJson, WorkerJson } from './api.js';
import { pauseJson, problemJson, routeJson, timeJson } from './to-json.js';

/** How long each part of what is read may take. */
const timeoutMs = 2_000;
const mostRunning = 50;
const mostScheduled = 10;
const countsForMs = 5_000;

/** Reads how a queue stands, for the first view. Nothing that it reads grows with the table. */
export class OverviewReader {
  readonly #reports: Pick<QueueReports, 'status' | 'nextScheduled'>;
  readonly #status: StatusReader;
  /** How many of each topic and subscription wait, run and have ended. */
  readonly allCounts: () => Promise<CountsJson>;

  constructor(
    reports: Pick<QueueReports, 'status' | 'nextScheduled'>,
    status: StatusReader,
    purgeMaxAgeDays: number,
  ) {
    this.#reports = reports;
    this.#status = status;
    this.allCounts = kept(countsForMs, async () =>
      countsJson(await reports.status({ timeoutMs, purgeable: false, purgeMaxAgeDays })),
    );
  }

  /** How many of each topic and subscription wait and run. */
  async counts(): Promise<readonly CountJson[]> {
    return (await this.#report()).counts.flatMap(countJson);
  }

  async read(): Promise<OverviewJson> {
    const report = await this.#report();
    const scheduled = await this.#scheduled();
    return {
      at: timeJson(report.at),
      buried: report.buried,
      lagMs: report.lagMs,
      counts: report.counts.flatMap(countJson),
      running: report.running.slice(0, mostRunning).map(runningJson),
      runningTotal: report.runningTotal,
      workers: report.workers.map((worker) => workerJson(worker, report.running)),
      scheduled,
      paused: report.paused.map(pauseJson),
      problems: report.problems.map(problemJson),
      tableBytes: report.size && report.size.tableBytes + report.size.indexBytes,
      liveRows: report.size?.liveRows ?? null,
    };
  }

  #report(): Promise<QueueStatus> {
    return this.#status.read({ timeoutMs, ended: false, purgeable: false });
  }

  async #scheduled(): Promise<OverviewJson['scheduled']> {
    const next = await this.#reports.nextScheduled(mostScheduled);
    return next.map(({ dueAt, ...task }) => ({ ...task, dueAt: timeJson(dueAt) }));
  }
}

function countsJson({ counts, endedSince }: StatusReport): CountsJson {
  return {
    endedSince: timeJson(endedSince),
    counts: counts.map(({ oldestDueAt: _oldest, ...one }) => one),
  };
}

function countJson({
  topic,
  subscriptionId,
  dead,
  status,
  count,
  isCapped,
}: StatusReport['counts'][number]): readonly CountJson[] {
  return isLive(status) ? [{ topic, subscriptionId, dead, status, count, isCapped }] : [];
}

function isLive(status: TaskState): status is CountJson['status'] {
  return ['pending', 'scheduled', 'retrying', 'processing'].includes(status);
}

function runningJson({ startedAt, ...running }: StatusReport['running'][number]): RunningJson {
  return { ...running, startedAt: timeJson(startedAt) };
}

function workerJson(
  {
    id,
    host,
    pid,
    version,
    concurrency,
    routes,
    startedAt,
    alive,
    parent,
    output,
  }: StatusReport['workers'][number],
  running: StatusReport['running'],
): WorkerJson {
  const named = routes.filter((route) => /^[st]:/.test(route) && route !== everyTopic);
  return {
    id,
    host,
    pid,
    version,
    concurrency,
    busy: running.filter(({ workerId }) => workerId === id).length,
    routes: named.map(routeJson),
    takesAll: routes.includes(everyTopic),
    webhooks: routes.includes(webhookRoute),
    startedAt: timeJson(startedAt),
    alive,
    parent,
    output,
  };
}
