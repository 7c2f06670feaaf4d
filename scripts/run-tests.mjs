// Runs a project of vitest.config.ts: node scripts/run-tests.mjs queue|servers|long [--closing FILE] [what Vitest takes]
//   --closing FILE   writes the closing lines to a file as well
// Files that fail, if they are few, run again, each alone; what passed only then is named. Exit code 1 unless everything passed.
import { writeFileSync } from 'node:fs';
import { passedOf } from './test-report.mjs';
import { runTests } from './vitest-twice.mjs';

const [project, ...rest] = process.argv.slice(2);
const at = rest.indexOf('--closing');
const [, closing] = at === -1 ? [] : rest.splice(at, 2);

const { results, failures, unstable, closing: own, fault } = await runTests(['--project', project, ...rest]);
const passed = results.reduce((sum, result) => sum + passedOf(result), 0);
const lines = [
  ...failures,
  ...unstable,
  ...own,
  ...(fault === undefined ? [] : [`FAILED: ${fault}`]),
  `${passed} passed, ${failures.length} failed, ${unstable.length} unstable`,
];
process.stdout.write(`\n${lines.join('\n')}\n`);
if (closing !== undefined) writeFileSync(closing, `${lines.join('\n')}\n`);
process.exitCode = failures.length > 0 || fault !== undefined ? 1 : 0;
