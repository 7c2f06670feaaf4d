import { peerOf, type Product } from '../peers.js';
import { goals, type Goal } from './goals.js';
import type { Summary } from './summary.js';
import { formatNumber, markdownTable } from './text.js';

const columns: readonly Product[] = [
  'graphile-worker',
  'pg-boss',
  'bullmq on redis',
  'bullmq on postgres',
  'bare',
];

/** The table of goals: what was asked for, what was reached, and what others reach. */
export function goalsTable(summary: Summary): string {
  const rows = [...goals.map((goal) => goalRow(summary, goal)), backlogRow(summary)];
  const head = ['work', 'goal', 'tarefa', ...columns, 'ratio', ''];
  return markdownTable(head, rows, (column) => column >= 2 && column < head.length - 1);
}

function goalRow(summary: Summary, goal: Goal): string[] {
  const { scenario, figure } = goal;
  const read = (peer: string): number | undefined => summary.median(scenario, peer, figure);
  const best = (peers: readonly string[]): number | undefined => {
    const values = peers.flatMap((peer) => read(peer) ?? []);
    if (values.length === 0) return undefined;
    return goal.atMost === undefined ? Math.max(...values) : Math.min(...values);
  };
  const ours = read(goal.ours);
  const other = goal.fixed ?? best(goal.against ?? []);
  const ratio = ours === undefined || other === undefined ? undefined : ours / other;
  const shown = columns.map((product) => best(goal.peers.filter((peer) => peerOf(peer).product === product)));
  return [goal.work, goal.goal, ...[ours, ...shown, ratio].map(cell), verdict(ratio, goal)];
}

/** How much the length of the backlog matters: the slowest of all lengths against the fastest. */
function backlogRow(summary: Summary): string[] {
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
    verdict(ours, { atLeast: 0.8 }),
  ];
}

function verdict(ratio: number | undefined, { atLeast, atMost }: Pick<Goal, 'atLeast' | 'atMost'>): string {
  if (ratio === undefined) return 'not measured';
  return ratio >= (atLeast ?? -Infinity) && ratio <= (atMost ?? Infinity) ? 'met' : '**missed**';
}

function cell(value: number | undefined): string {
  return value === undefined ? '' : formatNumber(value);
}
