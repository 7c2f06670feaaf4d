import { figureTitles, type Scenario } from '../scenario.js';
import { barChart } from './bar-chart.js';
import { lineChart } from './line-chart.js';
import type { Runs, Spread, Summary } from './summary.js';
import { fileNameOf, formatNumber, markdownTable } from './text.js';

/** A picture and where it goes, below `bench/results/`. */
export interface Chart {
  readonly file: string;
  readonly svg: string;
}

/** The part of the report on one scenario. */
export interface Section {
  readonly text: string;
  readonly chart: Chart | undefined;
}

/** What a section says of its scenario. */
export type ShownScenario = Pick<Scenario, 'name' | 'about' | 'columns' | 'lessIsBetter'>;

const windowSeconds = 10;

/** Every peer that was asked to run is a row, also when it has no figures. */
export function makeSection(scenario: ShownScenario, summary: Summary): Section {
  const peers = summary.peers(scenario.name);
  const [first] = scenario.columns;
  const columns = scenario.columns.filter((name) => peers.some((runs) => runs.spread(name) !== undefined));
  const rows = peers.map((runs) => [
    runs.peer,
    ...columns.map((name) => (name === first ? range(runs.spread(name)) : middle(runs.spread(name)))),
    runs.remarks,
  ]);
  const head = ['', ...columns.map((name) => figureTitles[name]), ''];
  const table = markdownTable(head, rows, (column) => column > 0 && column < head.length - 1);
  const chart = drawChart(scenario, peers);
  const picture = chart === undefined ? [] : [`![${scenario.name}](results/${chart.file})`];
  return { chart, text: [`### ${scenario.name}`, scenario.about, ...picture, table].join('\n\n') };
}

function drawChart(
  { name, columns, lessIsBetter }: ShownScenario,
  peers: readonly Runs[],
): Chart | undefined {
  const file = `${fileNameOf(name)}.svg`;
  const lines = peers.flatMap(({ peer, series }) => (series ? [{ label: peer, values: series }] : []));
  if (lines.length > 0) return { file, svg: lineChart(name, 'tasks per second', lines, windowSeconds) };
  const [first] = columns;
  if (first === undefined) return undefined;
  const bars = peers.flatMap((runs) => {
    const spread = runs.spread(first);
    return spread ? [{ label: runs.peer, value: spread.median, min: spread.min, max: spread.max }] : [];
  });
  if (bars.length < 2) return undefined;
  const unit = `${figureTitles[first]}${lessIsBetter ? ' (less is better)' : ''}`;
  return { file, svg: barChart(name, unit, bars) };
}

function range(spread: Spread | undefined): string {
  if (spread === undefined) return '';
  if (spread.min === spread.max) return formatNumber(spread.median);
  return `${formatNumber(spread.median)} (${formatNumber(spread.min)}..${formatNumber(spread.max)})`;
}

function middle(spread: Spread | undefined): string {
  return spread === undefined ? '' : formatNumber(spread.median);
}
