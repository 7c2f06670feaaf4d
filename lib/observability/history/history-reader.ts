import type { SqlHandle } from '../../storage/sql-handle.js';
import type { QueueTables } from '../../storage/postgres/identifiers.js';
import { queryReadable } from '../../storage/postgres/readable-rows.js';
import { readCounts, readDurations, wholeQueue } from '../../storage/postgres/statements/history.js';
import type { Route } from '../../storage/attempt.js';
import { percentile, type Histogram } from './histogram.js';

/** What ended, and how long it took, in ms; durations are null where nothing was measured. */
export interface HistoryCounts {
  readonly succeeded: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** Tasks that ran out of attempts. */
  readonly buried: number;
  /** Publications. */
  readonly delivered: number;
  /** What nobody was there for: attempts that failed because no handler was, and publications that reached nobody. */
  readonly unhandled: number;
  readonly wait: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  readonly run: { readonly p50: number | null; readonly p95: number | null };
}

/** A stretch of time. */
export interface HistoryPoint extends HistoryCounts {
  readonly at: Date;
  /** How long the oldest pending task had waited at most, in ms; null where nobody looked. */
  readonly lagMs: number | null;
}

/** A topic or subscription over the whole range. */
export interface RouteHistory extends HistoryCounts {
  /** Or `*`: all those that are too many to be told apart. */
  readonly route: Route;
  /** Attempts that ended, by stretch. */
  readonly ended: readonly number[];
}

/** The past hour or day. */
export interface History {
  readonly stepMs: number;
  readonly points: readonly HistoryPoint[];
  /** The busiest first. */
  readonly routes: readonly RouteHistory[];
}

/** What to read. */
export interface HistoryRequest {
  readonly range: 'hour' | 'day';
  /** Default: all. */
  readonly route?: Route | undefined;
}

const ranges = {
  hour: { stepSeconds: 60, steps: 60 },
  day: { stepSeconds: 600, steps: 144 },
} as const;

type Sums = Record<(typeof counted)[number], number>;
const counted = ['succeeded', 'failed', 'buried', 'delivered', 'unhandled'] as const;

/** Reads what the workers of a queue wrote down. Costs the same whatever the size of the queue. */
export async function readHistory(
  handle: SqlHandle,
  tables: QueueTables,
  { range, route }: HistoryRequest,
): Promise<History> {
  const { stepSeconds, steps } = ranges[range];
  const values = [stepSeconds, steps, route ?? null];
  const { rows } = await queryReadable(handle, readCounts(tables), values);
  const { rows: durations } = await queryReadable(handle, readDurations(tables), values);
  const last = Number(rows[0]?.['last'] ?? 0);
  const times = Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * stepSeconds);
  const byStep = new Map<number, Sums>();
  const byRoute = new Map<Route, Sums>();
  const lags = new Map<number, number>();
  const ended = new Map<Route, Map<number, number>>();
  for (const row of rows) {
    if (row['step'] === null) continue;
    const step = Number(row['step']);
    const name = String(row['route']);
    if (name === wholeQueue) {
      if (row['lag_ms'] !== null) lags.set(step, Number(row['lag_ms']));
      continue;
    }
    add(byStep, step, row);
    add(byRoute, name, row);
    ended.set(
      name,
      (ended.get(name) ?? new Map<number, number>()).set(
        step,
        Number(row['succeeded']) + Number(row['failed']),
      ),
    );
  }
  const histograms = readHistograms(durations);
  return {
    stepMs: stepSeconds * 1_000,
    points: times.map((step) => ({
      at: new Date(step * 1_000),
      ...countsOf(byStep.get(step), histograms, `step ${step}`),
      lagMs: lags.get(step) ?? null,
    })),
    routes: [...byRoute]
      .map(([name, sums]) => ({
        route: name,
        ...countsOf(sums, histograms, `route ${name}`),
        ended: times.map((step) => ended.get(name)?.get(step) ?? 0),
      }))
      .toSorted((a, b) => b.succeeded + b.failed - a.succeeded - a.failed || (a.route < b.route ? -1 : 1)),
  };
}

function add<Key>(to: Map<Key, Sums>, key: Key, row: Readonly<Record<string, unknown>>): void {
  const sums = to.get(key) ?? { succeeded: 0, failed: 0, buried: 0, delivered: 0, unhandled: 0 };
  for (const name of counted) sums[name] += Number(row[name]);
  to.set(key, sums);
}

/** By what they are of: `step …` or `route …`, and kind. */
function readHistograms(rows: readonly Readonly<Record<string, unknown>>[]): ReadonlyMap<string, Histogram> {
  const found = new Map<string, number[]>();
  for (const row of rows) {
    const owner = row['step'] === null ? `route ${String(row['route'])}` : `step ${Number(row['step'])}`;
    const key = `${owner} ${String(row['kind'])}`;
    const counts = found.get(key) ?? [];
    found.set(key, counts);
    const place = Number(row['place']) - 1;
    while (counts.length <= place) counts.push(0);
    counts[place] = Number(row['n']);
  }
  return found;
}

function countsOf(
  sums: Sums | undefined,
  histograms: ReadonlyMap<string, Histogram>,
  owner: string,
): HistoryCounts {
  const of = (kind: string, percent: number): number | null =>
    percentile(histograms.get(`${owner} ${kind}`) ?? [], percent);
  return {
    succeeded: sums?.succeeded ?? 0,
    failed: sums?.failed ?? 0,
    buried: sums?.buried ?? 0,
    delivered: sums?.delivered ?? 0,
    unhandled: sums?.unhandled ?? 0,
    wait: { p50: of('wait', 50), p95: of('wait', 95), p99: of('wait', 99) },
    run: { p50: of('run', 50), p95: of('run', 95) },
  };
}
