import type { FigureName } from '../scenario.js';
import { median } from '../statistics.js';
import type { Summary } from './summary.js';

/** A line of the table of goals. */
export interface Goal {
  readonly work: string;
  readonly goal: string;
  readonly scenario: string;
  readonly figure: FigureName;
  /** Whose figure is to reach the goal. */
  readonly ours: string;
  /** Shown beside it. */
  readonly peers: readonly string[];
  /** The goal is met when one of them is reached. All of them ask for more, or all for less. */
  readonly bars: readonly [Bar, ...Bar[]];
}

/** Ours divided by the other must be at least, or at most, so much. */
export interface Bar {
  /** The best of these peers, or a fixed value. */
  readonly against: readonly string[] | number;
  /** Where those were measured, when it is not the goal's scenario. */
  readonly scenario?: string;
  /** The median of the ratios within each run, instead of the ratio of the medians. */
  readonly withinRuns?: true;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** What became of a goal. */
export interface Judgement {
  /** To the bar that is met by most, or missed by least. */
  readonly ratio: number | undefined;
  readonly verdict: Verdict;
}

type Verdict = 'met' | 'missed' | 'not measured';

/** Whether a goal was reached; bars that were not measured decide nothing. */
export function judge(summary: Summary, goal: Goal): Judgement {
  const measured = goal.bars.flatMap((bar) => {
    const ratio = ratioTo(summary, goal, bar);
    return ratio === undefined ? [] : [{ ratio, margin: marginOf(ratio, bar) }];
  });
  const nearest = measured.toSorted((a, b) => b.margin - a.margin)[0];
  if (nearest === undefined) return { ratio: undefined, verdict: 'not measured' };
  return { ratio: nearest.ratio, verdict: verdictOf(nearest.margin) };
}

/** From 1 on a bar is reached. */
export function marginOf(ratio: number, { atLeast, atMost }: Pick<Bar, 'atLeast' | 'atMost'>): number {
  return Math.min(
    atLeast === undefined ? Infinity : ratio / atLeast,
    atMost === undefined ? Infinity : atMost / ratio,
  );
}

export function verdictOf(margin: number): Verdict {
  return margin >= 1 ? 'met' : 'missed';
}

/** The best of some figures, as the goal sees it; undefined where none was measured. */
export function bestOf({ bars }: Goal, figures: readonly (number | undefined)[]): number | undefined {
  const known = figures.filter((figure) => figure !== undefined);
  if (known.length === 0) return undefined;
  return bars[0].atMost === undefined ? Math.max(...known) : Math.min(...known);
}

function ratioTo(summary: Summary, goal: Goal, bar: Bar): number | undefined {
  const { scenario, figure, ours } = goal;
  const { against } = bar;
  if (bar.withinRuns && typeof against !== 'number')
    return ratioWithinRuns(summary, goal, { ...bar, against });
  const own = summary.median(scenario, ours, figure);
  const other =
    typeof against === 'number'
      ? against
      : bestOf(
          goal,
          against.map((peer) => summary.median(bar.scenario ?? scenario, peer, figure)),
        );
  return own === undefined || other === undefined ? undefined : own / other;
}

function ratioWithinRuns(
  summary: Summary,
  goal: Goal,
  { scenario = goal.scenario, against }: Bar & { readonly against: readonly string[] },
): number | undefined {
  const others = against.map((peer) => summary.byRun(scenario, peer, goal.figure));
  const ratios = [...summary.byRun(goal.scenario, goal.ours, goal.figure)].flatMap(([run, own]) => {
    const other = bestOf(
      goal,
      others.map((runs) => runs.get(run)),
    );
    return other === undefined ? [] : [own / other];
  });
  return ratios.length === 0 ? undefined : median(ratios);
}
