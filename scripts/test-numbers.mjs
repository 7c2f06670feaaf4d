// `.ci/run` ends with this: what failed, the test runner's own closing lines, and the numbers of its report.
// Arguments: the report as JSON, and what the runner printed.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const [report, log] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const { numPassedTests, testResults } = JSON.parse(report);
const failures = testResults.flatMap(failuresOf);
const closing = stripVTControlCharacters(log)
  .split('\n')
  .filter((line) => /^ *(Test Files|Tests|Duration) /.test(line));
const lines = [...failures, ...closing, `${numPassedTests} passed, ${failures.length} failed`];
process.stdout.write(`\n${lines.join('\n')}\n`);

/** A line for each test of the file that failed. A file that could not even be loaded counts as one. */
function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('', name);
  const failed = assertionResults.filter((result) => result.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [`FAIL ${file}: ${firstLine(message)}`];
  return failed.map(
    ({ fullName, failureMessages }) => `FAIL ${file} > ${fullName}: ${firstLine(failureMessages.join('\n'))}`,
  );
}

function firstLine(text) {
  return text.split('\n', 1)[0];
}
