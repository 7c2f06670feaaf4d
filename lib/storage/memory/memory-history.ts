import type { EndedOnRoute, History, HistoryRequest } from '../history.js';
import { historyOf, historyRanges, type Durations } from '../history-series.js';

/** What ended in one minute on one route. */
interface Noted {
  /** When it was noted, in ms since 1970. */
  readonly atMs: number;
  readonly ended: EndedOnRoute;
}

const dayMs = 86_400_000;

/** What ended in a queue in memory, for a day. */
export class MemoryHistory {
  #noted: Noted[] = [];
  readonly #lags = new Map<number, number>();

  add(nowMs: number, ended: readonly EndedOnRoute[]): void {
    this.#noted.push(...ended.map((one) => ({ atMs: nowMs, ended: one })));
  }

  /** Forgets what is older than a day, and notes how long tasks wait. */
  condense(nowMs: number, lagMs: number): void {
    this.#noted = this.#noted.filter(({ atMs }) => atMs > nowMs - dayMs);
    this.#lags.set(Math.floor(nowMs / 60_000) * 60, lagMs);
  }

  read(nowMs: number, { range, route }: HistoryRequest): History {
    const { stepSeconds, steps } = historyRanges[range];
    const stepOf = (ms: number): number => Math.floor(ms / 1_000 / stepSeconds) * stepSeconds;
    const last = stepOf(nowMs);
    const first = last - (steps - 1) * stepSeconds;
    const chosen = this.#noted.filter(
      ({ atMs, ended }) => stepOf(atMs) >= first && (route === undefined || ended.route === route),
    );
    const lags = new Map<number, number>();
    for (const [at, lagMs] of this.#lags) {
      const step = stepOf(at * 1_000);
      lags.set(step, Math.max(lags.get(step) ?? 0, lagMs));
    }
    return historyOf({
      stepSeconds,
      steps,
      last,
      counts: chosen.map(({ atMs, ended: { route: own, waits: _waits, runs: _runs, ...counts } }) => ({
        step: stepOf(atMs),
        route: own,
        counts,
      })),
      durations: durationsOf(chosen, stepOf),
      lags,
    });
  }
}

function durationsOf(chosen: readonly Noted[], stepOf: (ms: number) => number): readonly Durations[] {
  const sums = new Map<string, { of: Durations['of']; kind: Durations['kind']; histogram: number[] }>();
  for (const { atMs, ended } of chosen) {
    for (const of of [{ step: stepOf(atMs) }, { route: ended.route }]) {
      for (const [kind, more] of [['wait', ended.waits] as const, ['run', ended.runs] as const]) {
        const key = JSON.stringify([of, kind]);
        const sum = sums.get(key) ?? { of, kind, histogram: [] };
        for (const [place, count] of more.entries())
          sum.histogram[place] = (sum.histogram[place] ?? 0) + count;
        sums.set(key, sum);
      }
    }
  }
  return [...sums.values()];
}
