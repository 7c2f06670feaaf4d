import type { Product } from '../peers.js';
import type { Goal } from '../report/goal.js';
import { goalsTable } from '../report/goals-table.js';
import { makeResultsPage, type ResultsPage } from '../report/results-page.js';
import type { ResultLine } from '../result-line.js';
import { mysqlScenarios } from './scenarios.js';

const columns: readonly Product[] = [
  'bare on mariadb',
  '@boringnode/queue',
  'sidequest',
  'bullmq on redis',
  'tarefa on postgres',
];
const drained = ['@boringnode/queue, tuned', 'sidequest, tuned', 'bullmq on redis, tuned'];
const ours = 'tarefa, concurrency 100';

/** What this library is to reach on MariaDB. */
export const mysqlGoals: readonly Goal[] = [
  {
    work: 'drain, 4 processes with 100 slots',
    goal: '0.8 of the bare statements in the same run',
    scenario: 'mariadb: drain',
    figure: 'perSecond',
    ours,
    peers: ['bare on mariadb', ...drained],
    bars: [{ against: ['bare on mariadb'], atLeast: 0.8, withinRuns: true }],
  },
  {
    work: 'drain, 4 processes with 100 slots',
    goal: '1.0x the best other queue on MariaDB',
    scenario: 'mariadb: drain',
    figure: 'perSecond',
    ours,
    peers: drained,
    bars: [{ against: drained.slice(0, 2), atLeast: 1 }],
  },
  {
    work: 'held snapshot',
    goal: 'last fifth at least 0.9 of the first',
    scenario: 'mariadb: held snapshot',
    figure: 'ratio',
    ours,
    peers: ['bare on mariadb'],
    bars: [{ against: 1, atLeast: 0.9 }],
  },
  {
    work: 'wait at 50/s, median ms, defaults',
    goal: 'at most 1.5x LISTEN on PostgreSQL in the same run',
    scenario: 'mariadb: wait, 50/s',
    figure: 'medianMs',
    ours: 'tarefa',
    peers: ['@boringnode/queue', 'sidequest', 'bullmq on redis', 'tarefa on postgres'],
    bars: [{ against: ['tarefa on postgres'], atMost: 1.5, withinRuns: true }],
  },
  {
    work: 'deadlocks with producers beside claimers',
    goal: 'none',
    scenario: 'mariadb: producers beside claimers',
    figure: 'deadlocks',
    ours,
    peers: ['@boringnode/queue, tuned', 'sidequest, tuned'],
    // Less than one.
    bars: [{ against: 1, atMost: 0.5 }],
  },
];

/** The report of `npm run bench:mysql`. */
export function makeMysqlPage(lines: readonly ResultLine[], notes: string): ResultsPage {
  return makeResultsPage(
    { command: 'npm run bench:mysql', title: 'Results on MariaDB', introduction, scenarioIntroduction },
    (summary) => goalsTable(summary, mysqlGoals, columns),
    lines,
    mysqlScenarios,
    notes,
  );
}

const introduction =
  'Measured by `npm run bench:mysql`: how, and how to repeat it, is in [../README.md](../README.md#mariadb). Every run is a line ' +
  'of [results/latest.jsonl](results/latest.jsonl), and every line is in these tables.';

const scenarioIntroduction =
  'First figure: median of the runs, and their range. `tarefa` is this library on MariaDB; what follows the comma is the ' +
  'setting, none means defaults. Settings are in [../tarefa/settings.ts](../tarefa/settings.ts) and [../peers/](../peers); ' +
  '`bare on mariadb` is a loop of plain SQL on this library’s own table ([bare-adapter.ts](bare-adapter.ts)), the floor.';
