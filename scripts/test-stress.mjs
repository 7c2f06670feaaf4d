// Runs test files again and again while another process keeps one core busy: npm run test:stress -- FILE… --times 30
//   --times 30   so often; default 30
// Ends with how often each file passed, and what failed. Exit code 1 unless all passed every time, 2 when the command line is
// wrong.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { failuresOf } from './test-report.mjs';

/** Ends by itself when nobody is left to end it. */
const busyLoop = 'const parent = process.ppid; while (process.ppid === parent);';

const root = dirname(import.meta.dirname);
const { files, times } = readArguments();
const folder = mkdtempSync(join(tmpdir(), 'tarefa-stress-'));
const busy = spawn(process.execPath, ['-e', busyLoop], { stdio: 'ignore' });
let runner;
process.on('exit', () => {
  busy.kill('SIGKILL');
  // Not SIGKILL: it has servers to stop.
  runner?.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

const passed = new Map(files.map((file) => [file, 0]));
const failures = new Map();
for (let run = 1; run <= times; run += 1) {
  const began = performance.now();
  const lines = await runOnce(join(folder, `${run}.json`));
  const seconds = Math.round((performance.now() - began) / 1_000);
  process.stdout.write(`${run} of ${times}, ${seconds} s: ${lines.length === 0 ? 'passed' : 'FAILED'}\n`);
  for (const line of lines) {
    process.stdout.write(`${line}\n`);
    failures.set(line, (failures.get(line) ?? 0) + 1);
  }
}
process.stdout.write('\n');
for (const [line, count] of failures) process.stdout.write(`${count} times ${line}\n`);
for (const [file, count] of passed) process.stdout.write(`${count} of ${times} passed: ${file}\n`);
process.exit([...passed.values()].every((count) => count === times) ? 0 : 1);

function readArguments() {
  try {
    const options = { times: { type: 'string', default: '30' } };
    const { positionals, values } = parseArgs({ options, allowPositionals: true });
    if (!/^[1-9]\d*$/.test(values.times))
      throw new Error(`--times is a number from 1, not "${String(values.times)}"`);
    if (positionals.length === 0) throw new Error('name the test files: npm run test:stress -- FILE…');
    const missing = positionals.find((file) => !existsSync(file));
    if (missing !== undefined) throw new Error(`there is no file "${missing}"`);
    const named = positionals.map((file) => relative(root, resolve(file)));
    return { files: [...new Set(named)], times: Number(values.times) };
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}

/** Runs all files, counts those that passed, and answers a line for each failure. */
async function runOnce(report) {
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...files];
  const reporters = ['--reporter=json', `--outputFile=${report}`];
  runner = spawn(process.execPath, [...args, ...reporters], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = await new Promise((done) => runner.once('close', (code, signal) => done(signal ?? code)));
  const results = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : [];
  const lines = results.flatMap(failuresOf);
  // Such as an error that belongs to no test.
  if (ended !== 0 && lines.length === 0) return [`FAIL: the test runner ended with ${ended}`];
  for (const { name, status } of results) {
    const file = relative(root, name);
    if (status === 'passed' && passed.has(file)) passed.set(file, passed.get(file) + 1);
  }
  return lines;
}
