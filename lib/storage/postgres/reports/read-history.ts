import type { History, HistoryRequest } from '../../history.js';
import { historyOf, historyRanges, type Durations, type RouteStep } from '../../history-series.js';
import type { SqlHandle } from '../../sql-handle.js';
import type { QueueTables } from '../identifiers.js';
import { queryReadable } from '../readable-rows.js';
import { readCounts, readDurations, wholeQueue } from '../statements/history.js';

type Row = Readonly<Record<string, unknown>>;

/** Reads what the workers of a queue wrote down. Costs the same whatever the size of the queue. */
export async function readHistory(
  handle: SqlHandle,
  tables: QueueTables,
  { range, route }: HistoryRequest,
): Promise<History> {
  const { stepSeconds, steps } = historyRanges[range];
  const values = [stepSeconds, steps, route ?? null];
  const { rows } = await queryReadable(handle, readCounts(tables), values);
  const { rows: durations } = await queryReadable(handle, readDurations(tables), values);
  const ofSteps = rows.filter((row) => row['step'] !== null);
  const lags = ofSteps.filter((row) => row['route'] === wholeQueue && row['lag_ms'] !== null);
  return historyOf({
    stepSeconds,
    steps,
    last: Number(rows[0]?.['last'] ?? 0),
    counts: ofSteps.filter((row) => row['route'] !== wholeQueue).map(readStep),
    durations: readHistograms(durations),
    lags: new Map(lags.map((row) => [Number(row['step']), Number(row['lag_ms'])])),
  });
}

function readStep(row: Row): RouteStep {
  const counts = {
    succeeded: Number(row['succeeded']),
    failed: Number(row['failed']),
    buried: Number(row['buried']),
    delivered: Number(row['delivered']),
    unhandled: Number(row['unhandled']),
  };
  return { step: Number(row['step']), route: String(row['route']), counts };
}

/** A row is one bucket of a histogram. */
function readHistograms(rows: readonly Row[]): readonly Durations[] {
  const found = new Map<string, { readonly durations: Durations; readonly histogram: number[] }>();
  for (const row of rows) {
    const of = row['step'] === null ? { route: String(row['route']) } : { step: Number(row['step']) };
    const kind = row['kind'] === 'wait' ? 'wait' : 'run';
    const key = JSON.stringify([of, kind]);
    const histogram = found.get(key)?.histogram ?? [];
    if (!found.has(key)) found.set(key, { durations: { of, kind, histogram }, histogram });
    const place = Number(row['place']) - 1;
    while (histogram.length <= place) histogram.push(0);
    histogram[place] = Number(row['n']);
  }
  return [...found.values()].map(({ durations }) => durations);
}
