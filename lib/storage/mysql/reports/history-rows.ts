import type { Histogram } from '../../../values/histogram.js';
import type { Run } from '../connections/transactions.js';
import type { TextRow } from '../connections/answers.js';
import type { QueueTables } from '../identifiers.js';
import { sqlTime } from '../sql-time.js';
import * as sql from '../statements/history.js';
import { rowsOf } from '../administration/answered.js';

/** What is added to a row of the history. */
export interface HistoryAddition {
  /** As the server takes it. */
  readonly at: string;
  readonly route: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly buried: number;
  readonly delivered: number;
  readonly unhandled: number;
  readonly lag_ms: number | null;
  readonly waits: Histogram;
  readonly runs: Histogram;
}

const counted = ['succeeded', 'failed', 'buried', 'delivered', 'unhandled'] as const;

/**
 * Adds to rows of the history, each named once. Counts are added by the server, which locks the rows; durations are read behind
 * these locks, added here and written back.
 *
 * @param run of a transaction
 */
export async function addToHistory(
  run: Run,
  tables: Pick<QueueTables, 'history'>,
  additions: readonly HistoryAddition[],
): Promise<void> {
  if (additions.length === 0) return;
  const list = JSON.stringify(additions.map(({ waits: _w, runs: _r, ...counts }) => counts));
  await run(sql.addCounts(tables), [list]);
  const before = new Map(
    (await rowsOf(run, sql.readBuckets(tables), [list])).map((row) => [
      keyOf(sqlTime(String(row['at'])), String(row['route'])),
      row,
    ]),
  );
  const after = additions.map(({ at, route, waits, runs }) => {
    const row = before.get(keyOf(at, route));
    return {
      at,
      route,
      waits: JSON.stringify(sumOf(readHistogram(row?.['waits']), waits)),
      runs: JSON.stringify(sumOf(readHistogram(row?.['runs']), runs)),
    };
  });
  await run(sql.writeBuckets(tables), [JSON.stringify(after)]);
}

/** Merges minutes that are older than an hour, ten into one, because single minutes are of no use by then. */
export async function foldHistory(run: Run, tables: Pick<QueueTables, 'history'>): Promise<void> {
  const gone = await rowsOf(run, sql.lockMinutes(tables));
  if (gone.length === 0) return;
  const merged = new Map<string, HistoryAddition>();
  for (const row of gone) {
    const at = sqlTime(new Date(Number(row['stretch']) * 1_000).toISOString());
    const key = keyOf(at, String(row['route']));
    const one = additionOf(row, at);
    const other = merged.get(key);
    merged.set(key, other ? together(one, other) : one);
  }
  const keys = gone.map((row) => ({ at: sqlTime(String(row['at'])), route: row['route'] }));
  await run(sql.deleteMinutes(tables), [JSON.stringify(keys)]);
  await addToHistory(run, tables, [...merged.values()]);
}

/** Reads an array of JSON. */
export function readHistogram(json: string | null | undefined): Histogram {
  return json == null ? [] : (JSON.parse(json) as number[]);
}

/** How many durations fell into each bucket of two. */
export function sumOf(one: Histogram, other: Histogram): Histogram {
  const [longer, shorter] = one.length >= other.length ? [one, other] : [other, one];
  return longer.map((count, index) => count + (shorter[index] ?? 0));
}

function additionOf(row: TextRow, at: string): HistoryAddition {
  const counts = Object.fromEntries(counted.map((name) => [name, Number(row[name])]));
  return {
    ...(counts as Record<(typeof counted)[number], number>),
    at,
    route: String(row['route']),
    lag_ms: row['lag_ms'] == null ? null : Number(row['lag_ms']),
    waits: readHistogram(row['waits']),
    runs: readHistogram(row['runs']),
  };
}

function together(one: HistoryAddition, other: HistoryAddition): HistoryAddition {
  const counts = Object.fromEntries(counted.map((name) => [name, one[name] + other[name]]));
  const lags = [one.lag_ms, other.lag_ms].filter((lag) => lag !== null);
  return {
    ...one,
    ...counts,
    lag_ms: lags.length === 0 ? null : Math.max(...lags),
    waits: sumOf(one.waits, other.waits),
    runs: sumOf(one.runs, other.runs),
  };
}

/** Digits below a second differ by who wrote it: rows are of whole minutes. */
function keyOf(at: string, route: string): string {
  return `${at.slice(0, 'yyyy-mm-dd hh:mm:ss'.length)} ${route}`;
}
