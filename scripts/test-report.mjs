// Reads what the test runner writes with --reporter=json.
import { relative } from 'node:path';

/** A line for each test of a file that failed. A file that could not even be loaded counts as one. */
export function failuresOf({ name, status, message, assertionResults }) {
  const file = relative('', name);
  const failed = assertionResults.filter((result) => result.status === 'failed');
  if (status === 'failed' && failed.length === 0) return [`FAIL ${file}: ${firstLine(message)}`];
  return failed.map(
    ({ fullName, failureMessages }) => `FAIL ${file} > ${fullName}: ${firstLine(failureMessages.join('\n'))}`,
  );
}

/** How many tests of a file passed. */
export function passedOf({ assertionResults }) {
  return assertionResults.filter(({ status }) => status === 'passed').length;
}

/** Of a failed property the seed, the counterexample and the error as well: without them it cannot be run again. */
function firstLine(text) {
  // Of a test that has timed out Vitest reports where it stands, without its message.
  const lines = text.replace('Error: STACK_TRACE_ERROR', 'Error: timed out').split('\n');
  return lines[0].includes('Property failed') ? lines.slice(0, 12).join('\n  ') : lines[0];
}
