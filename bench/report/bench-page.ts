import type { Product } from '../peers.js';
import type { ResultLine } from '../result-line.js';
import type { Scenario } from '../scenario.js';
import { goals } from './goals.js';
import { evennessRow, goalsTable } from './goals-table.js';
import { makeResultsPage, type ResultsPage } from './results-page.js';
import type { Summary } from './summary.js';

const columns: readonly Product[] = [
  'graphile-worker',
  'pg-boss',
  'bullmq on redis',
  'bullmq on postgres',
  'bare',
];

/** Its table of goals. */
export const benchGoals = (summary: Summary): string =>
  goalsTable(summary, goals, columns, [evennessRow(summary, columns)]);

/** The report of `npm run bench`. */
export function makeBenchPage(
  lines: readonly ResultLine[],
  scenarios: readonly Scenario[],
  notes: string,
): ResultsPage {
  return makeResultsPage(
    { command: 'npm run bench', title: 'Results', introduction, scenarioIntroduction },
    benchGoals,
    lines,
    scenarios,
    notes,
  );
}

const introduction =
  'Measured by `npm run bench`: how, and how to repeat it, is in [README.md](README.md). Every run is a line of ' +
  '[results/latest.jsonl](results/latest.jsonl), and every line is in these tables.';

const scenarioIntroduction =
  'First figure: median of the runs, and their range. `tarefa` is this library; what follows the comma is the ' +
  'setting, none means defaults. Settings are in [tarefa/settings.ts](tarefa/settings.ts) and ' +
  '[peers/](peers); `bare` is a loop of plain SQL on this library’s own table ([bare/](bare)), the floor. Finished ' +
  'tasks are kept by tarefa, pg-boss and the bare loop, deleted by graphile-worker, and by BullMQ only when tuned.';
