import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { expect, test, vi } from 'vitest';
import { QueueModule } from '../../lib/index.js';
import { distantRoutines, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

const tickMs = 20;

/** An application's own jobs: a cron job that never comes due here, and an interval that counts its ticks. */
@Injectable()
class OwnJobs {
  ticks = 0;

  @Cron('0 0 1 1 *', { name: 'new-year' })
  newYear(): void {}

  @Interval(tickMs)
  tick(): void {
    this.ticks += 1;
  }
}

@Module({})
class OwnJobsModule {}

const ownJobs: DynamicModule = {
  module: OwnJobsModule,
  imports: [ScheduleModule.forRoot()],
  providers: [OwnJobs],
};

async function start(options: QueueAppOptions = {}): Promise<{
  readonly queue: QueueApp;
  readonly registry: SchedulerRegistry;
  readonly cronJobs: () => readonly string[];
}> {
  const queue = await bench.start({ ...distantRoutines(), imports: [ownJobs], ...options });
  const registry = queue.app.get(SchedulerRegistry);
  return { queue, registry, cronJobs: () => [...registry.getCronJobs().keys()].sort() };
}

const jobsOf = (name: string): readonly string[] =>
  ['notify', 'purge', 'retry'].map((routine) => `tarefa:${name}:${routine}`);

test('the routines stand in the registry of the application once, beside its own jobs', async () => {
  const { registry, cronJobs } = await start();
  expect(cronJobs()).toEqual(['new-year', ...jobsOf('default')]);
  for (const name of cronJobs()) expect(registry.getCronJob(name).isActive).toBe(true);
  expect(registry.getIntervals()).toHaveLength(1);
});

test(`the application's own intervals tick once, not twice`, async () => {
  const intervals = vi.spyOn(globalThis, 'setInterval');
  const { queue } = await start();
  const jobs = queue.app.get(OwnJobs, { strict: false });
  await until(async () => jobs.ticks > 0, 'a tick');
  expect(intervals.mock.calls.filter(([, ms]) => ms === tickMs)).toHaveLength(1);
});

test('a tick of a job runs its routine once', async () => {
  const { queue, registry } = await start();
  const finished: string[] = [];
  queue.events.on('routine.finished', ({ routine }) => finished.push(routine));
  for (const name of jobsOf('default')) await registry.getCronJob(name).fireOnTick();
  expect(finished).toEqual(['notify', 'purge', 'retry']);
});

test('the schedule module is found wherever the application imports it', async () => {
  @Module({
    imports: [
      QueueModule.forRoot({
        connection: bench.database.url,
        queue: 'tasks',
        name: 'early',
        ...distantRoutines(),
      }),
      ownJobs,
    ],
  })
  class QueueFirstModule {}
  const { cronJobs } = await start({ imports: [{ module: QueueFirstModule }] });
  expect(cronJobs()).toEqual(['new-year', ...jobsOf('default'), ...jobsOf('early')]);
});

test('a routine without minutes has no job', async () => {
  const { cronJobs } = await start({ retryMinutes: [], purgeMinutes: '' });
  expect(cronJobs()).toEqual(['new-year', 'tarefa:default:notify']);
});

test('the jobs are gone when the application is closed, and when its worker stops', async () => {
  const closed = await start();
  const jobs = jobsOf('default').map((name) => closed.registry.getCronJob(name));
  await closed.queue.close();
  expect(jobs.map(({ isActive }) => isActive)).toEqual([false, false, false]);
  expect(closed.cronJobs()).toEqual([]);
  const stopped = await start();
  await stopped.queue.worker.stop();
  await until(async () => stopped.cronJobs().length === 1, 'the jobs to be gone');
  expect(stopped.cronJobs()).toEqual(['new-year']);
});

test('with autoStart: false the jobs come with the worker', async () => {
  const { queue, cronJobs } = await start({ autoStart: false });
  expect(cronJobs()).toEqual(['new-year']);
  await queue.worker.start();
  expect(cronJobs()).toEqual(['new-year', ...jobsOf('default')]);
});

test('without the schedule module the routines have a registry of their own', async () => {
  const added = vi.spyOn(SchedulerRegistry.prototype, 'addCronJob');
  const app = await bench.start(distantRoutines());
  expect(added.mock.calls.map(([name]) => name).sort()).toEqual(jobsOf('default'));
  const registry = added.mock.contexts[0] as SchedulerRegistry;
  const finished = nextEvent(app.events, 'routine.finished');
  const job = registry.getCronJob('tarefa:default:notify');
  expect(job.isActive).toBe(true);
  await job.fireOnTick();
  expect(await finished).toMatchObject({ routine: 'notify', affected: 0 });
  await app.close();
  expect(job.isActive).toBe(false);
  expect(registry.getCronJobs().size).toBe(0);
});
