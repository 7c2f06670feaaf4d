import { Injectable, type Type } from '@nestjs/common';
import { TaskHandler } from '../../../lib/index.js';
import { version } from '../../../lib/version.js';
import { openQueue, table } from '../../tarefa/queue.js';
import type { HarnessedQueue, Job, OpenHarnessedQueue } from '../adapter/harnessed-queue.js';

type Run = (job: Job) => Promise<void>;

/** This library as the public harness drives it: a Nest application at defaults, but for the concurrency asked for. */
export const openTarefa: OpenHarnessedQueue = async (settings): Promise<HarnessedQueue> => {
  const topics = Array.from({ length: settings.queueCount }, (_, index) => `t${index}`);
  let handle: Run = () => Promise.reject(new Error('the worker has not started'));
  const bench = await openQueue(
    settings.databaseUrl,
    [makeHandlers(topics, (job) => handle(job))],
    // A process that is told to end has 5 s.
    { concurrency: settings.workerCount, shutdownTimeoutMs: 2_000 },
  );
  const { client, worker, admin } = bench;
  return {
    facts: {
      system: 'tarefa',
      version: `nestjs-tarefa@${version}`,
      schemaVersion: null,
      eventTables: [table],
      extensions: [],
    },
    insert: (jobs, queue) =>
      client.insertTasks(jobs.map((payload) => ({ topic: topics[queue] ?? 't0', payload }))),
    work: async (run) => {
      handle = run;
      await worker.start();
    },
    depth: async () => {
      const counts = await admin.counts({ since: new Date() });
      return counts
        .filter(({ status }) => status === 'pending')
        .reduce((depth, { count }) => depth + count, 0);
    },
    stop: () => bench.close(),
  };
};

/** A provider whose one method handles all topics, as if the decorators were written above it. */
function makeHandlers(topics: readonly string[], run: Run): Type {
  @Injectable()
  class Handlers {
    handle(job: Job): Promise<void> {
      return run(job);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'handle') as TypedPropertyDescriptor<
    Handlers['handle']
  >;
  for (const topic of topics) TaskHandler(topic)(Handlers.prototype, 'handle', method);
  return Handlers;
}
