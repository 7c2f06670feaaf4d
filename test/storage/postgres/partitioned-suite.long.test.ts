import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, inject, test } from 'vitest';

/**
 * Tests that say what a queue does, of all its parts, which a partitioned one has to do as well. Any other file can be run
 * so too: TAREFA_TEST_LAYOUT=partitioned npx vitest run test/worker
 */
const files = [
  'test/admin/bury.test.ts',
  'test/admin/queue-admin.test.ts',
  'test/worker/fan-out/atomicity.test.ts',
  'test/worker/fan-out/deliveries.test.ts',
  'test/faults/isolation-levels.test.ts',
  'test/maintenance/notify.routine.test.ts',
  'test/maintenance/purge.routine.test.ts',
  'test/worker/dead-chain.test.ts',
  'test/worker/fencing.test.ts',
  'test/worker/handler-transaction.test.ts',
  'test/worker/pick-up.test.ts',
  'test/worker/retry-rules.test.ts',
  'test/worker/success.test.ts',
];

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

// Each of them has its own time limit.
test('the same tests pass where queues are divided into partitions', { timeout: 0 }, async () => {
  const child = spawn(process.execPath, [vitest, 'run', '--isolate', '--reporter=dot', ...files], {
    env: {
      ...process.env,
      TAREFA_TEST_LAYOUT: 'partitioned',
      DATABASE_URL: inject('databaseUrl'),
      NO_COLOR: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (part: Buffer): void => {
    output = (output + part.toString()).slice(-20_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`vitest ended with ${String(code)}:\n${output}`);
  expect(output).toMatch(new RegExp(`Test Files +${files.length} passed`));
});
