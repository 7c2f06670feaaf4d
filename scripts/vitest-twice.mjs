// Runs test files with Vitest, and those that fail once more, each alone. Tests run real servers on whatever machine there is: one
// whose time limit a stall has used up passes alone, one that has found a fault fails again. More failed files than a few are no
// accident, and are not run again. What passed only alone is named: the test has a fault, or the library.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { failuresOf } from './test-report.mjs';

const mostUnstable = 3;
const root = dirname(import.meta.dirname);
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

let runner;
let stopped = false;
// Ctrl-C reaches the runner as well, which takes its servers down; this waits for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT') runner?.kill(signal);
    stopped = true;
  });
}

/** True once a signal has ended a run. */
export function wasStopped() {
  return stopped;
}

/**
 * What became of these tests. `results` has the last result of each file as Vitest reports it, `failures` and `unstable` a line for
 * each test, `closing` Vitest's own last lines of the first run, `seconds` how long all took, `fault` why there is no verdict.
 *
 * @param args what Vitest gets after `run`
 * @param env further variables
 * @param node the Node.js to run it with
 */
export async function runTests(args, { env = {}, node = process.execPath } = {}) {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'tarefa-tests-'));
  try {
    const first = await runVitest(args, join(folder, 'first.json'), { env, node });
    const failed = first.results.filter(({ status }) => status === 'failed');
    const isFew = failed.length > 0 && failed.length <= mostUnstable && !stopped;
    const again = [];
    for (const { name } of isFew ? failed : []) {
      process.stdout.write(`\n== Again, alone: ${relative(root, name)}\n`);
      const project = projectOf(args);
      const second = await runVitest([...project, name], join(folder, 'second.json'), { env, node });
      again.push(...second.results);
    }
    const mended = new Set(again.filter(({ status }) => status === 'passed').map(({ name }) => name));
    const results = first.results.map((result) => (mended.has(result.name) ? alone(again, result) : result));
    const unstable = failed.filter(({ name }) => mended.has(name)).flatMap(failuresOf);
    const failures = results.flatMap(failuresOf);
    return {
      results,
      failures,
      unstable: unstable.map((line) => line.replace('FAIL', 'UNSTABLE, passed when run again alone:')),
      closing: first.closing,
      seconds: Math.round((performance.now() - started) / 1_000),
      fault: faultOf(first, failed.length),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Vitest may fail for what no file is blamed for, and may end before it has written its report. */
function faultOf({ ended, isGreen, results }, failed) {
  if (stopped) return 'the run was stopped';
  if (results.length === 0) return `the test runner ended with ${ended} and no report`;
  return isGreen || failed > 0 ? undefined : `the test runner ended with ${ended}, though no file failed`;
}

function alone(again, { name }) {
  return again.find((result) => result.name === name);
}

function projectOf(args) {
  const at = args.indexOf('--project');
  return at === -1 ? [] : args.slice(at, at + 2);
}

/** Its output is passed on, and kept for its closing lines. */
async function runVitest(args, report, { env, node }) {
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const color = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  runner = spawn(node, [vitest, 'run', ...reporters, ...args], {
    cwd: root,
    env: { ...process.env, ...color, ...env },
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  let output = '';
  runner.stdout.on('data', (part) => {
    process.stdout.write(part);
    output = (output + part).slice(-100_000);
  });
  const ended = await new Promise((resolve) => {
    runner.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  runner = undefined;
  return {
    ended,
    isGreen: ended === 'code 0',
    closing: stripVTControlCharacters(output)
      .split('\n')
      .filter((line) => /^(Left out:| *(Test Files|Tests|Duration) )/.test(line)),
    results: existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [],
  };
}
