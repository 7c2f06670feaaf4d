import type { EnvironmentLine, ResultLine } from '../result-line.js';
import type { Scenario } from '../scenario.js';
import { goalsTable } from './goals-table.js';
import { makeSection, type Chart } from './sections.js';
import { Summary } from './summary.js';
import { formatNumber, markdownTable } from './text.js';

/** The report and its pictures. */
export interface ResultsPage {
  readonly markdown: string;
  readonly charts: readonly Chart[];
}

/** Makes the report from result lines; `notes` is written by hand. */
export function makeResultsPage(
  lines: readonly ResultLine[],
  scenarios: readonly Scenario[],
  notes: string,
): ResultsPage {
  const summary = new Summary(lines);
  const environments = lines.filter((line) => line.type === 'environment');
  const sections = scenarios
    .filter(({ name }) => summary.scenarios.includes(name))
    .map((scenario) => makeSection(scenario, summary));
  const parts = [
    '<!-- Made by `npm run bench` from results/latest.jsonl and notes.md; do not edit. -->',
    '# Results',
    introduction,
    '## Goals',
    'Medians. The ratio is to what the goal names; a peer’s column shows the better of its settings.',
    goalsTable(summary),
    notes.trim(),
    '## Where and with what',
    ...environments.flatMap(describeEnvironment),
    '## Scenarios',
    scenarioIntroduction,
    ...sections.map(({ text }) => text),
  ];
  return {
    markdown: `${parts.filter((part) => part !== '').join('\n\n')}\n`,
    charts: sections.flatMap(({ chart }) => chart ?? []),
  };
}

const introduction =
  'Measured by `npm run bench`: how, and how to repeat it, is in [README.md](README.md). Every run is a line of ' +
  '[results/latest.jsonl](results/latest.jsonl), and every line is in these tables.';

const scenarioIntroduction =
  'First figure: median of the runs, and their range. `tarefa` is this library; what follows the comma is the ' +
  'setting, none means defaults. Settings are in [tarefa/settings.ts](tarefa/settings.ts) and ' +
  '[peers/](peers); `bare` is a loop of plain SQL on this library’s own table ([bare/](bare)), the floor. Finished ' +
  'tasks are kept by tarefa, pg-boss and the bare loop, deleted by graphile-worker, and by BullMQ only when tuned.';

function describeEnvironment(line: EnvironmentLine): string[] {
  const { machine, node, versions, postgres } = line;
  const rows = [
    ['date', `${line.date.slice(0, 10)}${line.commit === undefined ? '' : `, commit ${line.commit}`}`],
    ['runs', `${line.runs} (${line.size})`],
    ['machine', `${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.system}`],
    ['durable commits on one connection', `${formatNumber(line.commitsPerSecond)} per second`],
    ['Node.js', `tarefa and bare ${node.tarefa}, peers ${node.peers}`],
    ['Redis', line.redis],
    ['packages', listed(versions)],
    ['PostgreSQL', listed(postgres)],
  ];
  return [markdownTable(['', ''], rows, () => false)];
}

function listed(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
