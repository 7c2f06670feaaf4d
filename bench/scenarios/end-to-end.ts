import type { Produced, Worked } from '../processes/child-calls.js';
import { monotonicMs } from '../protocol.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import { usageBetween } from '../servers/meter.js';
import type { Stage } from '../stage.js';
import { defined, drainColumns, reach, shares, total, tunedPeers } from './working.js';

const producerCount = 4;
const workerCount = 4;
const limitSeconds = 120;

/** Inserting and working at once, by several processes each. */
export const endToEnd: Scenario = {
  name: '1,000,000 tasks end to end',
  about:
    `${producerCount} processes insert 1,000,000 tasks, in batches of 1,000 over four connections each, while ` +
    `${workerCount} processes work them off; the handler does nothing. Tasks per second from the first insert to the ` +
    `last completion. A run is cut after ${limitSeconds} s.`,
  peers: tunedPeers,
  columns: [...drainColumns.filter((name) => name !== 'otherCores'), 'producerPeakRssMb', 'otherCores'],
  run: insertAndWork,
};

async function insertAndWork(stage: Stage, size: Size): Promise<Outcome> {
  const tasks = size === 'full' ? 1_000_000 : 40_000;
  const workers = await Promise.all(Array.from({ length: workerCount }, () => stage.addWorker()));
  const producers = await Promise.all(Array.from({ length: producerCount }, () => stage.addProducer()));
  await stage.settle();
  const before = await stage.meter.read();
  const own = process.cpuUsage();
  await Promise.all(workers.map((worker) => worker.work('empty', 0)));
  const begunMs = monotonicMs();
  const until = begunMs + limitSeconds * 1_000;
  const produced = Promise.all(producers.map((producer) => producer.call('fill', tasks / producerCount)));
  await Promise.race([reach(workers, tasks, until), failureOf(produced)]);

  const done = total(workers) >= tasks ? await produced : undefined;
  const endedAt = done && (await stage.desk.call('waitUntilDone', Math.max(0, until - monotonicMs())));
  const worked = await Promise.all(workers.map(({ process: child }) => child.call('worked')));
  const usage = usageBetween(before, await stage.meter.read());
  const seconds = (monotonicMs() - begunMs) / 1_000;
  const { user, system } = process.cpuUsage(own);
  await stage.endProcesses();

  const counted = endedAt === undefined ? started(worked) : tasks;
  const took = ((endedAt ?? monotonicMs()) - firstInsertMs(done, begunMs)) / 1_000;
  const inserting = sum(done ?? [], ({ cpuSeconds }) => cpuSeconds);
  const figures = {
    perSecond: counted / took,
    tasks: counted,
    seconds: took,
    ...shares(usage, worked, { tasks: counted, seconds, own: (user + system) / 1e6 + inserting }),
    producerPeakRssMb: done && Math.max(...done.map(({ peakRssBytes }) => peakRssBytes)) / 2 ** 20,
    // What the producers used is not known of a run that was cut.
    ...(done === undefined && { otherCores: undefined }),
  };
  return {
    figures: defined(figures),
    ...(endedAt === undefined && { cut: `not finished after ${limitSeconds} s` }),
  };
}

/** Never fulfilled: only the failure of those that insert matters, for then nothing more will come. */
async function failureOf(produced: Promise<readonly Produced[]>): Promise<never> {
  await produced;
  return new Promise<never>(() => undefined);
}

/** Opening the producers is not part of it. */
function firstInsertMs(done: readonly Produced[] | undefined, begunMs: number): number {
  return done === undefined ? begunMs : Math.min(...done.map(({ begunAtMs }) => begunAtMs));
}

function started(worked: readonly Worked[]): number {
  return sum(worked, (child) => child.started);
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((all, value) => all + of(value), 0);
}
