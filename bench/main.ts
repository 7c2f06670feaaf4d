import { log, readOrExplain } from './command-line.js';
import { readArguments, usage, type Arguments } from './arguments.js';
import { measure } from './measure.js';
import { keepResults, readResults, writeReport } from './report/write-report.js';
import type { ResultLine } from './result-line.js';
import { scenarios } from './scenarios.js';

const asked = readOrExplain(readArguments, usage);
if (asked !== undefined) {
  await run(asked).catch((error: unknown) => {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  });
}

async function run(args: Arguments): Promise<void> {
  if (args.render.length > 0) return publish(await readResults(args.render));
  const lines = await measure(scenarios, args, log);
  const isWhole = !args.quick && args.scenarios.length === 0 && args.peers.length === 0;
  if (isWhole) await publish(lines);
  if (lines.some((line) => line.type === 'run' && line.failed !== undefined)) process.exitCode = 1;
}

async function publish(lines: readonly ResultLine[]): Promise<void> {
  await keepResults(lines);
  await writeReport(lines, scenarios);
  log('wrote bench/RESULTS.md, bench/results/latest.jsonl and bench/results/*.svg');
}
