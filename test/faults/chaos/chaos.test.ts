import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeTemporaryFolder } from '../../support/folders.js';
import { forkChild } from '../../support/processes.js';
import type { ChaosReport } from './report.js';

// Near a minute: a fleet under load is hit by every kind of fault once, in any order. It finds what two faults do together, of
// which nobody has thought; longer runs are made by hand (`npm run chaos`).

test('a chaos run: every kind of fault hits at least once, and every invariant holds', async () => {
  const out = join(await makeTemporaryFolder(), 'report.json');
  const run = forkChild('chaos-run', {
    // What a server can do without failing takes longer: it is left to runs by hand.
    args: [
      ...['--minutes', '0.6', '--hits', '1', '--seed', '20240501', '--rate', '80', '--out', out],
      ...['--except', 'server: '],
    ],
  });
  const killing = setTimeout(() => run.process.kill('SIGTERM'), 300_000);
  const { code } = await run.exit;
  clearTimeout(killing);
  if (code !== 0) throw new Error(run.stdout + run.stderr);
  const report = JSON.parse(await readFile(out, 'utf8')) as ChaosReport;
  expect(report).toMatchObject({ lost: 0, doubled: 0, stuck: 0, violations: [], neverHit: [] });
  // Otherwise nothing was put to the test.
  expect(report.rows['sucesso']).toBeGreaterThan(200);
  expect(Object.keys(report.rows).some((what) => what.includes('worker lost'))).toBe(true);
}, 420_000);
