#!/usr/bin/env node
import { interrupted, run } from './run.js';

/** A terminal and npm both pass on one press of Ctrl-C: what comes so close together is one. */
const samePressMs = 1_000;

// The first Ctrl-C asks the command to end; the second one ends it.
const controller = new AbortController();
let askedAt = Infinity;
const interrupt = (): void => {
  if (performance.now() - askedAt > samePressMs) process.exit(interrupted);
  askedAt = Math.min(askedAt, performance.now());
  controller.abort();
};
process.on('SIGINT', interrupt);
// Nobody presses it: supervisors that send it again want to be sure.
process.on('SIGTERM', () => controller.abort());
// The reader may have seen enough, as `head` does: what is under way ends as at Ctrl-C, a worker's requests included.
let hasReader = true;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (hasReader && error.code !== 'EPIPE') process.exit(2);
    hasReader = false;
    controller.abort();
  });
}

const ended = await run(process.argv.slice(2), {
  env: process.env,
  input: () => process.stdin,
  out: process.stdout,
  err: process.stderr,
  signal: controller.signal,
});
const code = ended === interrupted && !hasReader ? 0 : ended;
// What was still under way would keep the process alive.
if (controller.signal.aborted) process.exit(code);
process.exitCode = code;
