import { expect, onTestFinished, test } from 'vitest';
import { nextEvent, until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';
import { useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);

test('closing waits for isolated handlers that run, and leaves no thread and no connection', async () => {
  const { queue, close, worker } = await isolated.start();
  const id = await queue.insertTask({ topic: 'hold' });
  await isolated.started(id);
  const closed = close();
  await until(async () => worker.state === 'stopping', 'the worker to stop');
  expect(await bench.row(id)).toMatchObject({ status: 'processando' });
  isolated.release();
  await closed;
  expect(await bench.row(id)).toMatchObject({ status: 'sucesso' });
});

test('a handler that goes on too long is told to stop at shutdown', async () => {
  const { queue, close } = await isolated.start({}, { shutdownTimeoutMs: 50 });
  const id = await queue.insertTask({ topic: 'obey' });
  await isolated.started(id);
  await close();
  const { status, resultado } = await bench.row(id);
  expect(status).toBe('sucesso');
  expect(typeof resultado === 'string' ? JSON.parse(resultado) : resultado).toMatchObject({
    code: 'WORKER_STOPPED',
  });
});

test('a worker that is stopped while its first thread starts waits for no application', async () => {
  process.env['ISOLATED_BOOT'] = 'never';
  onTestFinished(() => void delete process.env['ISOLATED_BOOT']);
  const { worker } = await isolated.start({}, { autoStart: false });
  const started = worker.start();
  const refused = started.catch((error: unknown) => error);
  await worker.stop();
  expect(await refused).toMatchObject({ code: 'HANDLER_CRASHED' });
});

test('one that does not stop is ended with its thread, and cannot commit any more', async () => {
  const { queue, close, events } = await isolated.start({}, { shutdownTimeoutMs: 50 });
  const stopped = nextEvent(events, 'worker.stopped');
  const id = await queue.insertTask({ topic: 'spin' });
  await isolated.started(id);
  await close();
  await stopped;
  expect(await bench.statusOf(id)).not.toBe('sucesso');
  expect(await isolated.effects()).not.toContain(id);
});
