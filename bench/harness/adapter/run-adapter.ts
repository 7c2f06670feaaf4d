import { setTimeout as pause } from 'node:timers/promises';
import { readSettings, type AdapterSettings } from './adapter-settings.js';
import type { HarnessedQueue, Job, OpenHarnessedQueue } from './harnessed-queue.js';
import { Producer } from './producer.js';
import { Progress } from './progress.js';
import { describe, type AdapterRecord } from './records.js';
import { Sampler } from './sampler.js';

/** The contract allows 5 s from SIGTERM to the end of the process. */
const stopLimitMs = 3_500;
const endLimitMs = 4_500;
const lookEveryMs = 1_000;

/**
 * Runs one system as an adapter of the public harness until SIGTERM: tells its descriptor, then offers jobs, works and
 * tells samples. Standard output has the records only; everything else goes to standard error.
 */
export async function runAdapter(open: OpenHarnessedQueue): Promise<void> {
  const settings = readSettings(process.env);
  const stopped = untilStopped();
  // A start waits for a server that is away, longer than a stop may.
  const queue = await Promise.race([open(settings), stopped.promise]);
  if (queue === undefined) process.exit(0);
  const { system } = queue.facts;
  const log = (line: string): void => void process.stderr.write(`[${system}] ${line}\n`);
  const write = (record: AdapterRecord): void => void process.stdout.write(`${JSON.stringify(record)}\n`);
  const progress = new Progress();
  const producer = new Producer(queue, settings, progress, log);
  const sampler = new Sampler(system, settings, progress, write);

  await queue.work(handler(settings, progress));
  write(describe(queue.facts, settings.instanceId, settings.databaseUrl));
  const looking = lookAtDepth(queue, settings, progress, stopped.signal);
  sampler.start();
  producer.start(process.stdin);

  await stopped.promise;
  const limit = setTimeout(
    () => end('did not stop in time; its jobs are left to the next start'),
    endLimitMs,
  );
  await Promise.allSettled([producer.stop(), queue.stop(stopLimitMs), looking]);
  await sampler.stop();
  clearTimeout(limit);
  end('stopped');

  function end(line: string): void {
    log(line);
    process.exit(0);
  }
}

/** Resolves at SIGTERM or Ctrl-C. */
function untilStopped(): { readonly promise: Promise<void>; readonly signal: AbortSignal } {
  const controller = new AbortController();
  const promise = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) {
      process.on(name, () => {
        controller.abort();
        resolve();
      });
    }
  });
  return { promise, signal: controller.signal };
}

function handler({ workMs }: AdapterSettings, progress: Progress): (job: Job) => Promise<void> {
  return async ({ insertedAtMs }) => {
    progress.claims.add(performance.now(), Date.now() - insertedAtMs);
    if (workMs > 0) await pause(workMs);
    progress.wholes.add(performance.now(), Date.now() - insertedAtMs);
    progress.completed += 1;
  };
}

/** Asks for the depth beside the samples, which come on time while the server does not answer. */
async function lookAtDepth(
  queue: HarnessedQueue,
  { instanceId, producerMode }: AdapterSettings,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  if (instanceId !== 0 || producerMode === 'depth-target') return;
  while (!signal.aborted) {
    progress.depth = await queue.depth().catch(() => progress.depth);
    await pause(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
}
