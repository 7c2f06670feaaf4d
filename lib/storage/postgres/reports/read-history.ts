import { percentile, type Histogram } from '../../../values/histogram.js';
import type { Route } from '../../attempt.js';
import type { History, HistoryCounts, HistoryRequest } from '../../history.js';
import type { SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import { queryReadable } from '../readable-rows.js';
import { readCounts, readDurations, wholeQueue } from '../statements/history.js';

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
