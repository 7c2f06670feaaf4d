import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../support/waiting.js';
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

test('a task whose thread has not started yet is given back unstarted', async () => {
  const { queue, close } = await isolated.start({}, { shutdownTimeoutMs: 50 });
  const first = await queue.insertTask({ topic: 'hold' });
  await isolated.started(first);
  process.env['ISOLATED_BOOT'] = 'never';
  onTestFinished(() => void delete process.env['ISOLATED_BOOT']);
  const second = await queue.insertTask({ topic: 'hold' });
  await until(async () => (await bench.row(second)).status === 'processando', 'its claim');
  await close();
  expect(await bench.row(second)).toMatchObject({ status: 'pendente', tentativa: 1 });
});

test('a worker that is stopped while its first thread starts waits for no application', async () => {
  process.env['ISOLATED_BOOT'] = 'never';
  onTestFinished(() => void delete process.env['ISOLATED_BOOT']);
  const { worker } = await isolated.start({}, { autoStart: false });
  const started = worker.start();
  const refused = expect(started).rejects.toMatchObject({ code: 'HANDLER_CRASHED' });
  await worker.stop();
  await refused;
});

test('one that does not stop is ended with its thread; its attempt fails, and nothing of it is kept', async () => {
  const { queue, close } = await isolated.start({}, { shutdownTimeoutMs: 50 });
  const id = await queue.insertTask({ topic: 'hold' });
  await isolated.started(id);
  await close();
  expect(await bench.row(id)).toMatchObject({
    status: 'falha',
    mensagem: 'the worker is shutting down (no attempts left)',
  });
});
