import { expect, onTestFinished, test, vi } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { holdTimers } from '../support/held-timers.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

class Simple {
  @TaskHandler('simple')
  simple(): void {}
}

test('with autoStart false nothing is claimed until the worker is started, once', async () => {
  const { queue, worker } = await bench.start({ handlers: [Simple], autoStart: false, pollIntervalMs: 10 });
  const other = await bench.start({ handlers: [Simple], queue: 'other', table: 'other' });
  const id = await queue.insertTask({ topic: 'simple' });
  // A worker of another queue that has done a whole task shows that time has passed.
  await other.queue.insertTask({ topic: 'simple' });
  await new Promise<void>((resolve) => other.events.on('task.completed', () => resolve()));
  expect(await bench.row(id)).toMatchObject({ status: 'pendente', reserva: 0 });
  expect(worker.id).toBeUndefined();
  await Promise.all([worker.start(), worker.start()]);
  await worker.start();
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', executor: worker.id });
  const { rows } = await bench.pool.query('select from tasks_worker where stopped_at is null');
  expect(rows).toHaveLength(1);
});

test('a worker that was never started stops, and one that has stopped says that it cannot start again', async () => {
  const { worker } = await bench.start({ handlers: [Simple], autoStart: false });
  await worker.stop();
  await expect(worker.start()).rejects.toThrow(/has stopped and cannot start again/);
});

test('a process that only produces says that it has no worker to start', async () => {
  const { worker } = await bench.start({ handlers: [Simple], worker: false });
  await expect(worker.start()).rejects.toThrow(/only produces/);
});

test('one that is started long after the application is warned of forgotten shutdown hooks as well', async () => {
  vi.stubEnv('NODE_ENV', 'development');
  onTestFinished(() => void vi.unstubAllEnvs());
  const count = process.listenerCount.bind(process);
  vi.spyOn(process, 'listenerCount').mockImplementation((name) =>
    // Of other names Node.js itself asks, to know whether this process still listens to its parent.
    String(name).startsWith('SIG') ? 0 : count(name),
  );
  const checks = holdTimers((ms) => ms === 5_000);
  const { worker, events } = await bench.start({ handlers: [Simple], autoStart: false, recovery: false });
  const told: string[] = [];
  // Of classes without a module as well, which other files of this process have declared.
  events.on('warning', ({ message }) => {
    if (message.includes('SIGTERM')) told.push(message);
  });
  checks.ringFirst();
  expect(told).toEqual([]);
  await worker.start();
  checks.ringFirst();
  expect(told).toEqual([expect.stringContaining('app.enableShutdownHooks()')]);
});
