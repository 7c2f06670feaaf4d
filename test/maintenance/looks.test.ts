import { expect, test, vi } from 'vitest';
import { looksChannel } from '../../lib/coordination/postgres/postgres-bell.js';
import { TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { holdTimers, type HeldTimers } from '../support/held-timers.js';
import { listen } from '../support/listening.js';
import { coreOf, type QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';
import { useRecoveryBench, type ChildWorker } from './recovery-bench.js';

const channel = looksChannel('public.tasks');

const bench = useRecoveryBench();

/** So long that no look comes by itself while a test runs; a tenth to two tenths more is the patience of the others. */
const recovery = { intervalMs: 2_000_000, confirmMs: 300, graceMs: 0 };

class Handlers {
  @TaskHandler('hold')
  hold(): void {}
}

function start(options: QueueModuleOptions): Promise<QueueApp> {
  return bench.start({ handlers: [Handlers], pollIntervalMs: 0, ...options });
}

function startChild(options: QueueModuleOptions): Promise<ChildWorker> {
  return bench.startChild({ pollIntervalMs: 0, ...options });
}

/** Holds what a worker sets until its next look. */
function holdLooks(): HeldTimers {
  const { intervalMs } = recovery;
  return holdTimers((ms) => ms >= intervalMs && ms <= 1.2 * intervalMs);
}

/** The worker whose time comes first looks; over when it has set its next timer, and so many others theirs again. */
async function nextLook(looks: HeldTimers, others = 0): Promise<void> {
  const asked = looks.asked.length;
  looks.ringFirst();
  const isOver = async () => looks.asked.length === asked + 1 + others;
  await until(isOver, `a look of which ${others} others hear`);
}

test('of several workers one looks, and those that hear of it send nothing', async () => {
  const looks = holdLooks();
  const apps: QueueApp[] = [];
  for (let n = 0; n < 4; n += 1) apps.push(await start({ recovery }));
  const asked = apps.map(({ app }) => vi.spyOn(coreOf(app).database.workers, 'findMissing'));
  // Three wait again each time, and longer than the one that looks: in the order of their times it is always the same.
  for (let n = 0; n < 8; n += 1) await nextLook(looks, 3);
  expect(asked.map(({ mock }) => mock.calls.length).filter((times) => times > 0)).toEqual([8]);
  expect(looks.waiting).toBe(4);
});

test('a worker without others rings for no look: a notification is a transaction', async () => {
  const looks = holdLooks();
  const lookFiveTimes = async (): Promise<void> => {
    for (let n = 0; n < 5; n += 1) await nextLook(looks);
  };
  const { heard, close } = await listen(bench.database, channel);
  const { worker } = await start({ recovery });
  await lookFiveTimes();
  expect(await heard()).toEqual([]);
  const other = await start({ recovery: false });
  await lookFiveTimes();
  expect(await heard()).toEqual(Array(5).fill(worker.id));
  await other.close();
  await lookFiveTimes();
  expect(await heard()).toEqual([]);
  await close();
});

test('a looker that stands still, though its locks live on, is replaced by another', async () => {
  const eager = { ...recovery, intervalMs: 300 };
  const holder = await startChild({ recovery: false });
  await bench.database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await holder.message('started');
  const { next, close } = await listen(bench.database, channel);
  const looker = await startChild({ recovery: eager });
  const survivor = await start({ recovery: eager });
  while ((await next()) !== looker.workerId);
  await close();
  process.kill(looker.pid, 'SIGSTOP');
  const recovered = nextEvent(survivor.events, 'task.recovered');
  await holder.kill('SIGKILL');
  expect((await recovered).workerId).toBe(holder.workerId);
});

test('a worker that cannot look lets another one try, and goes on automatically', async () => {
  const looks = holdLooks();
  const one = await start({ recovery });
  const failures: unknown[] = [];
  one.events.on('routine.failed', ({ routine }) => failures.push(routine));
  const findMissing = vi
    .spyOn(coreOf(one.app).database.workers, 'findMissing')
    .mockRejectedValueOnce(new Error('not now'));
  for (let n = 0; n < 3; n += 1) await nextLook(looks);
  expect(failures).toEqual(['recover']);
  expect(findMissing).toHaveBeenCalledTimes(3);
  // After the start, after the failure as those that are patient, after two looks.
  const { intervalMs } = recovery;
  expect(looks.asked.map((ms) => ms > intervalMs)).toEqual([false, true, false, false]);
});
