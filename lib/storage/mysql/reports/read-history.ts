import type { History, HistoryRequest } from '../../history.js';
import { historyOf, historyRanges, type Durations, type RouteStep } from '../../history-series.js';
import { rowsOf } from '../administration/answered.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import * as sql from '../statements/history.js';
import { readHistogram, sumOf } from './history-rows.js';

/** Reads what the workers of a queue wrote down. Costs the same whatever the size of the queue. */
export async function readHistory(
  run: Run,
  tables: Pick<QueueTables, 'history'>,
  { range, route }: HistoryRequest,
): Promise<History> {
  const { stepSeconds, steps } = historyRanges[range];
  const [row] = await rowsOf(run, sql.lastStretch, [stepSeconds, stepSeconds]);
  const last = Number(row?.['last'] ?? 0);
  const first = last - stepSeconds * (steps - 1);
  const rows = await rowsOf(run, sql.readHistory(tables, route !== undefined), [
    stepSeconds,
    stepSeconds,
    first,
    ...(route === undefined ? [] : [route]),
  ]);
  const ofRoutes = rows.filter((one) => one['route'] !== sql.wholeQueue);
  return historyOf({
    stepSeconds,
    steps,
    last,
    counts: ofRoutes.map(readStep),
    durations: sumDurations(ofRoutes),
    lags: readLags(rows),
  });
}

function readStep(row: TextRow): RouteStep {
  const counts = {
    succeeded: Number(row['succeeded']),
    failed: Number(row['failed']),
    buried: Number(row['buried']),
    delivered: Number(row['delivered']),
    unhandled: Number(row['unhandled']),
  };
  return { step: Number(row['step']), route: String(row['route']), counts };
}

/** The longest of each stretch. */
function readLags(rows: readonly TextRow[]): ReadonlyMap<number, number> {
  const lags = new Map<number, number>();
  for (const { route, step, lag_ms: lag } of rows) {
    if (route !== sql.wholeQueue || lag == null) continue;
    lags.set(Number(step), Math.max(lags.get(Number(step)) ?? 0, Number(lag)));
  }
  return lags;
}

/** Of each stretch and of each route. */
function sumDurations(rows: readonly TextRow[]): readonly Durations[] {
  const found = new Map<string, Durations>();
  const add = (one: Durations): void => {
    const key = JSON.stringify([one.of, one.kind]);
    const other = found.get(key);
    found.set(key, other ? { ...one, histogram: sumOf(one.histogram, other.histogram) } : one);
  };
  for (const row of rows) {
    const owners = [{ step: Number(row['step']) }, { route: String(row['route']) }];
    const [waits, runs] = [readHistogram(row['waits']), readHistogram(row['runs'])];
    for (const of of owners) {
      add({ of, kind: 'wait', histogram: waits });
      add({ of, kind: 'run', histogram: runs });
    }
  }
  return [...found.values()];
}
