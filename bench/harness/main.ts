import { log, readOrExplain } from '../command-line.js';
import { readHarnessArguments, usage, type HarnessArguments } from './arguments.js';
import { readLines, writeHarnessReport } from './report/write-harness-report.js';
import { runHarness } from './run-harness.js';

const asked = readOrExplain(readHarnessArguments, usage);
if (asked !== undefined) {
  await run(asked).catch((error: unknown) => {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  });
}

async function run(args: HarnessArguments): Promise<void> {
  const isWhole = args.systems.length === 0 && args.phases.length === 0;
  const lines = args.render.length > 0 ? await readLines(args.render) : await runHarness(args, log);
  if (!isWhole) return;
  await writeHarnessReport(lines);
  log('wrote bench/harness/RESULTS.md and bench/harness/results/latest.jsonl');
}
