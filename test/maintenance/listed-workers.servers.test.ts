import { hostname } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import type { QueueApp } from '../support/queue-app.js';
import { unlessTold } from '../support/run-database.js';
import { until } from '../support/waiting.js';
import { useRecoveryBench } from './recovery-bench.js';

const bench = useRecoveryBench();

class Handlers {
  @TaskHandler('hold')
  hold(): string {
    return 'done by the survivor';
  }
}

/** It looks for lost workers when it is told to. */
const passive = {
  recovery: { intervalMs: 3_600_000, confirmMs: 50, graceMs: 0 },
  pollIntervalMs: unlessTold,
};

function start(): Promise<QueueApp> {
  return bench.start({ handlers: [Handlers], ...passive });
}

/** What of the list is looked at here: which processes work, and whether they live. */
async function listed(app: QueueApp): Promise<readonly object[]> {
  const { workers } = await app.app.get(QueueAdmin, { strict: false }).status();
  return workers.map(({ host, pid, alive }) => ({ host, pid, alive }));
}

test('a worker is listed from its start to its stop; a killed one until the next check', async () => {
  const app = await start();
  const own = { host: hostname(), pid: process.pid, alive: 'lock' };
  expect(await listed(app)).toEqual([own]);

  const stopped = await bench.startChild(passive);
  expect(await listed(app)).toEqual([own, { ...own, pid: stopped.pid }]);
  stopped.send('close');
  await until(async () => (await listed(app)).length === 1, 'the one that was stopped is not listed');

  const killed = await bench.startChild(passive);
  await killed.kill('SIGKILL');
  const missing = [own, { ...own, pid: killed.pid, alive: false }];
  // The server learns a moment later that the connection has ended.
  await until(async () => isDeepStrictEqual(await listed(app), missing), 'the killed one is missing');
  await app.retry.run();
  expect(await listed(app)).toEqual([own]);
});

test('of several that check at the same time one recovers what a killed worker held', async () => {
  const holder = await bench.startChild({ ...passive, recovery: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo) values ('hold') returning id`,
  );
  await holder.message('started');
  await holder.kill('SIGKILL');

  const apps = await Promise.all([start(), start(), start()]);
  const recovered: string[] = [];
  for (const { events } of apps) events.on('task.recovered', ({ task }) => void recovered.push(task.id));
  await Promise.all(apps.map(({ retry }) => retry.run()));
  const id = rows[0]?.id ?? '';
  expect(await bench.endedChain(id, 2)).toMatchObject([
    { status: 'falha' },
    { status: 'sucesso', mensagem: 'done by the survivor' },
  ]);
  expect(recovered).toEqual([id]);
});
