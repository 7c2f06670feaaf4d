// `.ci/run` ends with this: what failed, the test runner's own closing lines, and the numbers of its report.
// Arguments: the report as JSON, and what the runner printed.
import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { failuresOf } from './test-report.mjs';

const [report, log] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const { numPassedTests, testResults } = JSON.parse(report);
const failures = testResults.flatMap(failuresOf);
const closing = stripVTControlCharacters(log)
  .split('\n')
  .filter((line) => /^ *(Test Files|Tests|Duration) /.test(line));
const lines = [...failures, ...closing, `${numPassedTests} passed, ${failures.length} failed`];
process.stdout.write(`\n${lines.join('\n')}\n`);
