import { readArguments, usageOf, type Arguments } from './arguments.js';
import { log, readOrExplain } from './command-line.js';
import { measure } from './measure.js';
import type { Peer } from './peers.js';
import type { ResultsPage } from './report/results-page.js';
import { keepResults, readResults, writeReport } from './report/write-report.js';
import type { EnvironmentLine, ResultLine } from './result-line.js';
import type { Scenario } from './scenario.js';
import type { Servers } from './servers/servers.js';

/** A benchmark of its own: what it runs, where, and what is made of it. */
export interface Program<On extends { close(): Promise<void> }> {
  /** `npm run bench` */
  readonly command: string;
  /** Where its notes and results are: `bench`, or below it. */
  readonly folder: string;
  readonly scenarios: readonly Scenario<On>[];
  readonly start: (withRedis: boolean) => Promise<Ground<On>>;
  /** @param notes written by hand */
  readonly makePage: (lines: readonly ResultLine[], notes: string) => ResultsPage;
}

/** The servers of a benchmark, started. */
export interface Ground<On> {
  readonly servers: Servers;
  /** What is to be known of servers that only this benchmark has. */
  readonly environment: Partial<EnvironmentLine>;
  /**
   * Sets up what one run happens on.
   *
   * @param node the Node.js that runs the peer's processes
   * @param adapter address of its adapter's module
   */
  readonly open: (scenario: Scenario<On>, peer: Peer, node: string, adapter: string) => Promise<On>;
  readonly stop: () => Promise<void>;
}

/** Runs a benchmark as the command line of this process says. */
export async function runProgram<On extends { close(): Promise<void> }>(program: Program<On>): Promise<void> {
  const asked = readOrExplain(readArguments, usageOf(program.command, program.folder));
  if (asked === undefined) return;
  try {
    await run(program, asked);
  } catch (error) {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  }
}

async function run<On extends { close(): Promise<void> }>(
  program: Program<On>,
  asked: Arguments,
): Promise<void> {
  if (asked.render.length > 0) return publish(program, await readResults(asked.render));
  const lines = await measure(program, asked);
  const isWhole = !asked.quick && asked.scenarios.length === 0 && asked.peers.length === 0;
  if (isWhole) await publish(program, lines);
  if (lines.some((line) => line.type === 'run' && line.failed !== undefined)) process.exitCode = 1;
}

async function publish<On extends { close(): Promise<void> }>(
  { folder, makePage }: Program<On>,
  lines: readonly ResultLine[],
): Promise<void> {
  await keepResults(folder, lines);
  await writeReport(folder, (notes) => makePage(lines, notes));
  log(`wrote ${folder}/RESULTS.md, ${folder}/results/latest.jsonl and ${folder}/results/*.svg`);
}
