import { peerOf, type Product } from '../peers.js';
import { bestOf, judge, marginOf, verdictOf, type Goal, type Judgement } from './goal.js';
import type { Summary } from './summary.js';
import { formatNumber, markdownTable } from './text.js';

/**
 * The table of goals: what was asked for, what was reached, and what others reach.
 *
 * @param columns of the others
 * @param more rows that are no goals of one scenario
 */
export function goalsTable(
  summary: Summary,
  goals: readonly Goal[],
  columns: readonly Product[],
  more: readonly string[][] = [],
): string {
  const rows = [...goals.map((goal) => goalRow(summary, goal, columns)), ...more];
  const head = ['work', 'goal', 'tarefa', ...columns, 'ratio', ''];
  return markdownTable(head, rows, (column) => column >= 2 && column < head.length - 1);
}

function goalRow(summary: Summary, goal: Goal, columns: readonly Product[]): string[] {
  const read = (peer: string): number | undefined => summary.median(goal.scenario, peer, goal.figure);
  const shown = columns.map((product) => {
    const settings = goal.peers.filter((peer) => peerOf(peer).product === product);
    return bestOf(goal, settings.map(read));
  });
  const { ratio, verdict } = judge(summary, goal);
  return [goal.work, goal.goal, ...[read(goal.ours), ...shown, ratio].map(cell), emphasised(verdict)];
}

/** How much the length of the backlog matters: the slowest of all lengths against the fastest. */
export function evennessRow(summary: Summary, columns: readonly Product[]): string[] {
  const lengths = summary.scenarios.filter((name) => name.startsWith('backlog: '));
  const evenness = (peer: string): number | undefined => {
    const rates = lengths.flatMap((scenario) => summary.median(scenario, peer, 'perSecond') ?? []);
    return rates.length < 2 ? undefined : Math.min(...rates) / Math.max(...rates);
  };
  const ours = evenness('tarefa, tuned');
  const shown = columns.map((product) => evenness(product === 'bare' ? product : `${product}, tuned`));
  return [
    ...['backlog 10,000 to 5,000,000: slowest / fastest', 'within 20%'],
    ...[ours, ...shown, ours].map(cell),
    emphasised(ours === undefined ? 'not measured' : verdictOf(marginOf(ours, { atLeast: 0.8 }))),
  ];
}

function emphasised(verdict: Judgement['verdict']): string {
  return verdict === 'missed' ? '**missed**' : verdict;
}

function cell(value: number | undefined): string {
  return value === undefined ? '' : formatNumber(value);
}
