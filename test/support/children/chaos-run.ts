import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readOptions, type ChaosOptions } from '../../faults/chaos/options.js';
import { describeReport } from '../../faults/chaos/report.js';
import { runChaos } from '../../faults/chaos/run.js';

/**
 * A chaos run from the command line (`npm run chaos -- --minutes 10 --seed 1`). Ends with 0 when every invariant
 * held and every kind of fault hit often enough, with 1 otherwise. Ctrl-C takes everything down first.
 */
const print = (text: string): void => void process.stdout.write(text);
let close: (() => Promise<void>) | undefined;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    print(`${signal}: taking everything down\n`);
    void Promise.resolve(close?.()).finally(() => process.exit(130));
  });
}

let options: ChaosOptions;
try {
  options = readOptions(process.argv.slice(2));
} catch (error) {
  print(`${(error as Error).message}\n`);
  process.exit(2);
}
print(`seed ${options.seed}\n`);
// Whatever happens, a run ends: twice its time, and what draining and judging may take.
const longestMs = (options.minutes * 2 + 10) * 60_000;
const watchdog = setTimeout(() => {
  print(`the run did not end in ${longestMs} ms: taking everything down\n`);
  void Promise.race([Promise.resolve(close?.()), pause(60_000)]).finally(() => process.exit(1));
}, longestMs);
try {
  const report = await runChaos(options, {
    program: join(import.meta.dirname, 'chaos-worker.js'),
    say: (line) => print(`${line}\n`),
    opened: (closing) => (close = closing),
  });
  print(describeReport(report));
  if (options.out !== undefined) await writeFile(options.out, `${JSON.stringify(report, undefined, 2)}\n`);
  process.exitCode = report.violations.length + report.neverHit.length === 0 ? 0 : 1;
} catch (error) {
  print(`the run broke off: ${(error as Error).stack}\n`);
  await close?.();
  process.exitCode = 1;
} finally {
  clearTimeout(watchdog);
  // What has been taken down holds nothing; what is left over keeps no gate waiting.
  setTimeout(() => {
    print(`the run has ended and something is still open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.exit();
  }, 20_000).unref();
}
