import { percentile, type Histogram } from '../values/histogram.js';
import type { Route } from './attempt.js';
import type { History, HistoryCounts } from './history.js';

/** Counts of one route in one stretch of time. */
export interface RouteStep {
  /** When the stretch begins, in seconds since 1970. */
  readonly step: number;
  readonly route: Route;
  readonly counts: Sums;
}

/** Durations of a stretch or of a route. */
export interface Durations {
  readonly of: { readonly step: number } | { readonly route: Route };
  readonly kind: 'wait' | 'run';
  readonly histogram: Histogram;
}

/** What a history is made of. */
export interface HistoryParts {
  readonly stepSeconds: number;
  readonly steps: number;
  /** The last stretch, in seconds since 1970. */
  readonly last: number;
  readonly counts: readonly RouteStep[];
  readonly durations: readonly Durations[];
  /** How long tasks had waited, in ms, by stretch. */
  readonly lags: ReadonlyMap<number, number>;
}

const counted = ['succeeded', 'failed', 'buried', 'delivered', 'unhandled'] as const;
export type Sums = Readonly<Record<(typeof counted)[number], number>>;

/** Stretches of the past hour or day. */
export const historyRanges = {
  hour: { stepSeconds: 60, steps: 60 },
  day: { stepSeconds: 600, steps: 144 },
} as const;

/** Puts a history together: every stretch of the range, and the routes, the busiest first. */
export function historyOf({ stepSeconds, steps, last, counts, durations, lags }: HistoryParts): History {
  const times = Array.from({ length: steps }, (_, index) => last - (steps - 1 - index) * stepSeconds);
  const byStep = new Map<number, Sums>();
  const byRoute = new Map<Route, Sums>();
  const ended = new Map<Route, Map<number, number>>();
  for (const { step, route, counts: sums } of counts) {
    add(byStep, step, sums);
    add(byRoute, route, sums);
    const own = ended.get(route) ?? new Map<number, number>();
    ended.set(route, own.set(step, (own.get(step) ?? 0) + sums.succeeded + sums.failed));
  }
  const histograms = new Map(durations.map((one) => [keyOf(one.of, one.kind), one.histogram]));
  return {
    stepMs: stepSeconds * 1_000,
    points: times.map((step) => ({
      at: new Date(step * 1_000),
      ...countsOf(byStep.get(step), histograms, { step }),
      lagMs: lags.get(step) ?? null,
    })),
    routes: [...byRoute]
      .map(([route, sums]) => ({
        route,
        ...countsOf(sums, histograms, { route }),
        ended: times.map((step) => ended.get(route)?.get(step) ?? 0),
      }))
      .toSorted((a, b) => b.succeeded + b.failed - a.succeeded - a.failed || (a.route < b.route ? -1 : 1)),
  };
}

function add<Key>(to: Map<Key, Sums>, key: Key, more: Sums): void {
  const sums = to.get(key);
  const together = counted.map((name) => [name, (sums?.[name] ?? 0) + more[name]] as const);
  to.set(key, Object.fromEntries(together) as Sums);
}

function keyOf(of: Durations['of'], kind: Durations['kind']): string {
  return 'step' in of ? `step ${of.step} ${kind}` : `route ${of.route} ${kind}`;
}

function countsOf(
  sums: Sums | undefined,
  histograms: ReadonlyMap<string, Histogram>,
  of: Durations['of'],
): HistoryCounts {
  const percentileOf = (kind: Durations['kind'], percent: number): number | null =>
    percentile(histograms.get(keyOf(of, kind)) ?? [], percent);
  return {
    succeeded: sums?.succeeded ?? 0,
    failed: sums?.failed ?? 0,
    buried: sums?.buried ?? 0,
    delivered: sums?.delivered ?? 0,
    unhandled: sums?.unhandled ?? 0,
    wait: {
      p50: percentileOf('wait', 50),
      p95: percentileOf('wait', 95),
      p99: percentileOf('wait', 99),
    },
    run: { p50: percentileOf('run', 50), p95: percentileOf('run', 95) },
  };
}
