import { formatNumber, markdownTable } from '../../report/text.js';
import type { EnvironmentLine } from '../../result-line.js';
import type { CellLine, HarnessLine } from '../harness-line.js';
import { cells, type Cell } from '../runner/cells.js';
import { judge } from '../runner/judge.js';
import { systems, type System } from '../systems.js';
import { published } from './published.js';

type JudgedSuite = Exclude<Cell['suite'], 'mixed'>;

const columns = Object.keys(systems) as System[];

/** Makes the page of results; `notes` is written by hand. */
export function makeHarnessPage(lines: readonly HarnessLine[], notes: string): string {
  const runs = lines.filter((line) => line.type === 'cell');
  const parts = [
    '<!-- Made by `npm run bench:harness` from results/latest.jsonl and notes.md; do not edit. -->',
    '# Results of the harness’s scenarios',
    introduction,
    ...lines.filter((line) => line.type === 'environment').map(describeRun),
    '## Scores',
    scoreIntroduction,
    scores(runs),
    notes.trim(),
    '## Chaos',
    'Completions per second after the stress, by those before. In brackets: seconds until 90 % were reached again.',
    sharesTable('chaos', runs),
    '## Pressure',
    'Completions per second under the stress, by those before. In brackets: seconds from SIGTERM to the end.',
    sharesTable('pressure', runs),
    '## Every run',
    detailIntroduction,
    details(runs),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const introduction =
  'Measured by `npm run bench:harness`: the scenarios of the public harness ' +
  '[hardbyte/postgresql-job-queue-benchmarking](https://github.com/hardbyte/postgresql-job-queue-benchmarking), run ' +
  'without containers on one PostgreSQL, by [our adapter](tarefa-bench) and by adapters for pg-boss and ' +
  'graphile-worker ([../peers/harness](../peers/harness)). Every run is a line of ' +
  '[results/latest.jsonl](results/latest.jsonl). The other columns are what the harness published for its eight ' +
  'systems on 2026-05-09: **other hardware (4 cores, 8 GB), longer phases, and its own adapters**, so only the ' +
  'verdicts compare, not the rates.';

const scoreIntroduction =
  'The rules are those behind the published scores. Chaos is passed by a system that completes jobs again afterwards, ' +
  'at whatever rate, and whose processes end only where the scenario kills them. Pressure is passed by one that goes ' +
  'through all phases and ends when it is told to; how slow it became does not count.';

const detailIntroduction =
  'Medians per second of what handlers completed, in the phases before, under and after the stress; claim p99 is the ' +
  'time from insert to handler under the stress. _Lost_ is the harness’s estimate from the rates. _Stuck_ counts jobs ' +
  'in the database that were not done 20 s after the last insert: those of killed workers, as a rule.';

function describeRun({
  date,
  commit,
  size,
  machine,
  commitsPerSecond,
  versions,
  postgres,
}: EnvironmentLine): string {
  const length = size === 'quick' ? '**short phases of 7 to 15 s (`--quick`)**' : 'the harness’s own phases';
  return (
    `${date.slice(0, 10)}${commit === undefined ? '' : `, commit ${commit}`}; ${length}; ${machine.cores} cores ` +
    `(${machine.cpu}), ${machine.memoryGb} GB, ${formatNumber(commitsPerSecond)} durable commits per second on one ` +
    `connection; PostgreSQL ${postgres['server_version'] ?? 'unknown'}; pg-boss ${versions['pg-boss'] ?? 'none'}, ` +
    `graphile-worker ${versions['graphile-worker'] ?? 'none'}.`
  );
}

function scores(runs: readonly CellLine[]): string {
  const score = (suite: JudgedSuite, system: System): string => {
    const judged = cells
      .filter((cell) => cell.suite === suite)
      .map(({ name }) => find(runs, system, name))
      .filter((run) => run !== undefined);
    const passed = judged.filter((run) => judge(run)?.passed === true).length;
    return judged.length === 0 ? 'not run' : `${passed} of ${judged.length}`;
  };
  const ours = columns.map((name) => [
    `**${name}**`,
    'job queue',
    score('chaos', name),
    score('pressure', name),
    'here',
  ]);
  const theirs = published.map(({ name, contract, chaosPassed, pressurePassed }) => [
    name,
    contract,
    `${chaosPassed} of 5`,
    `${pressurePassed} of 4`,
    'published',
  ]);
  return markdownTable(['system', 'contract', 'chaos', 'pressure', ''], [...ours, ...theirs], () => false);
}

function sharesTable(suite: JudgedSuite, runs: readonly CellLine[]): string {
  const head = ['', ...columns.map((name) => `**${name}**`), ...published.map(({ name }) => name)];
  const rows = cells
    .filter((cell) => cell.suite === suite)
    .map(({ name, about }) => [
      `${name}: ${about}`,
      ...columns.map((system) => shareText(find(runs, system, name))),
      ...published.map((system) => publishedText(system[suite][name])),
    ]);
  return markdownTable(head, rows, (column) => column > 0);
}

function shareText(run: CellLine | undefined): string {
  const verdict = run && judge(run);
  if (run === undefined || verdict === undefined) return 'not run';
  const share = verdict.share === undefined ? 'none' : `${Math.round(verdict.share * 100)} %`;
  const seconds =
    run.suite === 'chaos' ? run.recoverySeconds : run.stop && Math.round(run.stop.tookMs / 100) / 10;
  const behind = seconds === undefined ? '' : ` (${formatNumber(seconds)} s)`;
  return verdict.passed ? `${share}${behind}` : `**failed** ${share}: ${verdict.why}`;
}

function publishedText(percent: number | undefined): string {
  return percent === undefined ? '**failed**' : percent === 0 ? '**0 %**' : `${percent} %`;
}

function details(runs: readonly CellLine[]): string {
  const head = ['', '', 'before', 'under', 'after', 'claim p99, ms', 'lost', 'stuck', 'end, s'];
  const rows = cells.flatMap(({ name }) =>
    columns.flatMap((system) => {
      const run = find(runs, system, name);
      return run === undefined ? [] : [detailRow(run)];
    }),
  );
  return markdownTable(head, rows, (column) => column > 1);
}

function detailRow(run: CellLine): string[] {
  const before = run.phases.find(({ label }) => label === 'baseline');
  const under = run.phases.filter(({ label }) => label !== 'baseline' && label !== 'recovery');
  const after = run.phases.find(({ label }) => label === 'recovery');
  const numbers = (values: readonly (number | undefined)[]): string =>
    values.map((value) => (value === undefined ? '' : formatNumber(value))).join(', ');
  return [
    run.cell,
    `${run.system}${run.failed === undefined ? '' : `: ${run.failed}`}`,
    numbers([before?.completionRate]),
    numbers(under.map(({ completionRate }) => completionRate)),
    numbers([after?.completionRate]),
    numbers(under.map(({ claimP99Ms }) => claimP99Ms)),
    numbers([run.jobsLost]),
    numbers([run.left]),
    run.stop === undefined ? '' : (run.stop.tookMs / 1_000).toFixed(1),
  ];
}

function find(runs: readonly CellLine[], system: System, name: string): CellLine | undefined {
  return runs.findLast((run) => run.system === system && run.cell === name);
}
