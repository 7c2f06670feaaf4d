import { Module } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { expect, test, vi } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { QueueHealthIndicator, type QueueHealthOptions } from '../../lib/terminus/index.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

@Module({ imports: [TerminusModule.forRoot({ logger: false })], providers: [QueueHealthIndicator] })
class HealthModule {}

class Handlers {
  @TaskHandler('a')
  handle(): void {}
}

async function start(options: QueueAppOptions) {
  const started = await bench.start({
    handlers: [Handlers],
    imports: [{ module: HealthModule }],
    ...options,
  });
  const health = started.app.get(HealthCheckService, { strict: false });
  const indicator = started.app.get(QueueHealthIndicator, { strict: false });
  const check = async (given?: QueueHealthOptions): Promise<unknown> =>
    health.check([() => indicator.isHealthy('queue', given)]).then(
      ({ details }) => details['queue'],
      (error: { getResponse(): { details: Record<string, unknown> } }) =>
        error.getResponse().details['queue'],
    );
  return { ...started, check };
}

test('a running worker is healthy, and one that has stopped is not', async () => {
  const { check, worker } = await start({});
  expect(await check()).toEqual({ status: 'up', worker: 'running', running: 0 });
  await worker.stop();
  expect(await check()).toMatchObject({ status: 'down', message: 'the worker is stopped' });
});

test('a process without a worker is healthy while its database answers', async () => {
  const { check, app } = await start({ worker: false });
  expect(await check()).toEqual({ status: 'up', worker: 'none', running: 0 });
  const admin = app.get(QueueAdmin);
  vi.spyOn(admin, 'ping').mockRejectedValueOnce(new Error('connection refused'));
  expect(await check()).toMatchObject({ status: 'down', message: 'connection refused' });
  vi.spyOn(admin, 'ping').mockReturnValueOnce(new Promise(() => {}));
  expect(await check({ timeoutMs: 20 })).toMatchObject({
    status: 'down',
    message: 'the database did not answer within 20 ms',
  });
});

test('a task that waits for too long makes its queue unhealthy', async () => {
  const { check, queue } = await start({ worker: false, name: 'billing' });
  await queue.insertTask({ topic: 'a', runAt: new Date(Date.now() - 60_000) });
  expect(await check({ queue: 'billing' })).toMatchObject({ status: 'up' });
  expect(await check({ queue: 'billing', maxWaitingMs: 90_000 })).toMatchObject({ status: 'up' });
  expect(await check({ queue: 'billing', maxWaitingMs: 30_000 })).toMatchObject({
    status: 'down',
    message: 'a task has been waiting for more than 30000 ms',
  });
});

test('what no running worker serves is named, and makes a process unhealthy only where it is asked to', async () => {
  const { check } = await start({ recovery: false });
  await bench.pool.query(
    `insert into tasks (processo, data_hora) values ('typo', now() - interval '1 minute'), ('young', now() - interval '1 second')`,
  );
  const unserved = ["topic 'typo'"];
  expect(await check({ maxWaitingMs: 30_000 })).toMatchObject({ status: 'up', unserved });
  expect(await check({ failOnUnserved: true })).toMatchObject({
    status: 'down',
    unserved,
    message: "no running worker serves topic 'typo'",
  });
});
