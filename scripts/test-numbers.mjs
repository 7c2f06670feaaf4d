// `.ci/run` ends with this: what failed, the test runner's own closing lines, and the numbers of its report.
// Arguments: the report as JSON, what the runner printed, and the report of the files that were run again, if any were.
import { existsSync, readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { failuresOf, passedOf } from './test-report.mjs';

const [reportPath, logPath, againPath] = process.argv.slice(2);
const { numPassedTests, testResults } = read(reportPath);
const again = againPath && existsSync(againPath) ? read(againPath).testResults : [];
const names = new Set(again.map(({ name }) => name));
const before = testResults.filter(({ name }) => names.has(name));
const failures = [...testResults.filter(({ name }) => !names.has(name)), ...again].flatMap(failuresOf);
const passed = numPassedTests + sum(again) - sum(before);

const closing = stripVTControlCharacters(readFileSync(logPath, 'utf8'))
  .split('\n')
  .filter((line) => /^(Left out:| *(Test Files|Tests|Duration) )/.test(line));
const mended = again.filter(({ status }) => status === 'passed').map(({ name }) => name);
const second = before
  .filter(({ name }) => mended.includes(name))
  .flatMap(failuresOf)
  .map((line) => line.replace('FAIL', 'PASSED ONLY WHEN RUN AGAIN, ALONE:'));
const lines = [...failures, ...second, ...closing, `${passed} passed, ${failures.length} failed`];
process.stdout.write(`\n${lines.join('\n')}\n`);

function read(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function sum(results) {
  return results.reduce((total, result) => total + passedOf(result), 0);
}
