import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test, vi } from 'vitest';
import { looksChannel } from '../../lib/coordination/postgres/channels.js';
import { TaskHandler } from '../../lib/index.js';
import { holdTimers, type HeldTimers } from '../support/held-timers.js';
import { listen } from '../support/listening.js';
import { useRecoveryBench, type ChildWorker } from '../maintenance/recovery-bench.js';
import type { QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

/** What is promised, with every option at its default; the routines, which might be sooner, are off. */
const promisedMs = 15_000;

/** How long a test may take: its pauses are real. */
const patienceMs = 60_000;

const bench = useRecoveryBench();

beforeEach(async () => {
  // Nobody is called lost while the server has just started.
  await until(async () => {
    const { rows } = await bench.pool.query<{ ready: boolean }>(
      `select clock_timestamp() - pg_postmaster_start_time() > interval '10 seconds' as ready`,
    );
    return rows[0]?.ready;
  }, 'the server is up for ten seconds');
});

class Handlers {
  @TaskHandler('hold')
  hold(): void {}
}

/** A worker here, with the timers by which it looks for lost ones: they ring when a test says so. */
async function startSurvivor(): Promise<{ readonly app: QueueApp; readonly looks: HeldTimers }> {
  const looks = holdTimers((ms) => ms >= 5_000 && ms <= 6_000);
  const app = await bench.start({ handlers: [Handlers] });
  return { app, looks };
}

/** A worker in another process, which has started a task. */
async function startVictim(): Promise<ChildWorker> {
  const worker = await bench.startChild({});
  await bench.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await worker.message('started');
  return worker;
}

/**
 * Lets the survivor look when its timers say so, until it has found what was lost; answers how long that took by their clock. On
 * a busy machine more time passes than by that clock, and never less.
 */
async function recover({ events }: QueueApp, looks: HeldTimers): Promise<number> {
  const began = looks.nowMs;
  const recovered = vi.fn<() => void>();
  events.on('task.recovered', recovered);
  while (recovered.mock.calls.length === 0 && looks.nowMs - began <= promisedMs) {
    await pause(looks.firstInMs);
    const asked = looks.asked.length;
    looks.ringFirst();
    await until(async () => looks.asked.length > asked, 'it has looked, and plans the next look');
  }
  return looks.nowMs - began;
}

test(
  'the task of a killed worker runs again in time, though the worker was the one that recovers others',
  async () => {
    const victim = await startVictim();
    const { app, looks } = await startSurvivor();
    const { next, close } = await listen(bench.database, looksChannel('public.tasks'));
    expect(await next()).toBe(victim.workerId);
    await close();
    await until(async () => looks.asked.length > 1, 'the survivor has heard of it as well, and waits anew');
    await victim.kill('SIGKILL');
    const completed = nextEvent(app.events, 'task.completed', undefined, patienceMs);
    expect(await recover(app, looks)).toBeLessThanOrEqual(promisedMs);
    expect((await completed).task.attempt).toBe(2);
  },
  patienceMs,
);

test(
  'so does that of a worker that is alone and is started again',
  async () => {
    const victim = await startVictim();
    await victim.kill('SIGKILL');
    const { app, looks } = await startSurvivor();
    const completed = nextEvent(app.events, 'task.completed', undefined, patienceMs);
    expect(await recover(app, looks)).toBeLessThanOrEqual(promisedMs);
    expect((await completed).task.attempt).toBe(2);
  },
  patienceMs,
);
