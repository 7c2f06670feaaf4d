// `npm start`: compiles the sample application and runs it until it is told to stop.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
let running;
let stopSignal;

// Ctrl-C reaches npm and this process, and npm sends what it receives once more. The application runs in a process
// group of its own and is asked to stop once, and then has its time to finish.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));

// npm sends signals to the shell in between. One that does not pass them on leaves this process without a parent.
const parent = process.ppid;
setInterval(() => process.ppid === parent || stop('SIGTERM'), 250).unref();

const compiled = await run([tsc, '-p', join(root, 'sample-app/tsconfig.json')]);
if (compiled !== 0 || stopSignal !== undefined) process.exit(compiled);
const copied = await run([join(root, 'scripts/build-page.mjs'), 'dist/lib']);
if (copied !== 0 || stopSignal !== undefined) process.exit(copied);
process.exit(await run(['--enable-source-maps', join(root, 'dist/sample-app/main.js')]));

function stop(signal) {
  if (stopSignal !== undefined) return;
  stopSignal = signal;
  running?.kill(signal);
}

/** Runs a Node.js program to its end and returns its exit code, 128 and more when a signal ended it. */
function run(args) {
  return new Promise((resolve) => {
    running = spawn(process.execPath, args, {
      cwd: root,
      stdio: 'inherit',
      detached: process.platform !== 'win32',
    });
    running.once('error', (error) => {
      process.stderr.write(`${args[0]} could not be started: ${error.message}\n`);
      resolve(1);
    });
    running.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]));
  });
}
