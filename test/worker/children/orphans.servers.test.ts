import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { forkChild } from '../../support/processes.js';
import { until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';
import { childFile, useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);

/** False of a process that has ended, also while nobody has taken note of it. */
async function runs(pid: number): Promise<boolean> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch(() => ({
    stdout: '',
  }));
  return /^[^Z\s]/.test(stdout);
}

test('a process whose handler never lets its event loop run ends when its parent is killed', async () => {
  const { queue } = await bench.start({ worker: false });
  const parent = forkChild('isolated-parent', {
    env: {
      DATABASE_URL: bench.database.url,
      ISOLATED_URL: bench.database.url,
      QUEUE_OPTIONS: JSON.stringify({
        isolation: { module: childFile('isolated-module').href, processes: 1 },
        unknownTasks: 'leave',
      }),
    },
  });
  await parent.message('ready');
  const id = await queue.insertTask({ topic: 'process block' });
  const payload = await until(async () => {
    const { rows } = await bench.pool.query<{ payload: string }>(
      "select payload from tasks where processo = 'blocking'",
    );
    return rows[0]?.payload;
  }, 'the handler to block');
  const { pid } = JSON.parse(payload) as { readonly pid: number };
  expect(await runs(pid)).toBe(true);
  await parent.kill('SIGKILL');
  await until(async () => !(await runs(pid)), 'the process to end');
  expect(await isolated.effects()).not.toContain(id);
});
