import type { EnvironmentLine, ResultLine } from '../result-line.js';
import { makeSection, type Chart, type ShownScenario } from './sections.js';
import { Summary } from './summary.js';
import { formatNumber, markdownTable } from './text.js';

/** The report and its pictures. */
export interface ResultsPage {
  readonly markdown: string;
  readonly charts: readonly Chart[];
}

/** What a report says besides its figures. */
export interface ReportTexts {
  /** What makes it. */
  readonly command: string;
  readonly title: string;
  readonly introduction: string;
  readonly scenarioIntroduction: string;
}

/**
 * Makes a report from result lines.
 *
 * @param goals makes the table of what was asked for
 * @param notes written by hand
 */
export function makeResultsPage(
  { command, title, introduction, scenarioIntroduction }: ReportTexts,
  goals: (summary: Summary) => string,
  lines: readonly ResultLine[],
  scenarios: readonly ShownScenario[],
  notes: string,
): ResultsPage {
  const summary = new Summary(lines);
  const environments = lines.filter((line) => line.type === 'environment');
  const sections = scenarios
    .filter(({ name }) => summary.scenarios.includes(name))
    .map((scenario) => makeSection(scenario, summary));
  const parts = [
    `<!-- Made by \`${command}\` from results/latest.jsonl and notes.md; do not edit. -->`,
    `# ${title}`,
    introduction,
    '## Goals',
    'Medians. The ratio is to what the goal names; a peer’s column shows the better of its settings.',
    goals(summary),
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
    ...(line.mariadb === undefined ? [] : [['MariaDB', listed(line.mariadb)]]),
  ];
  return [markdownTable(['', ''], rows, () => false)];
}

function listed(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
