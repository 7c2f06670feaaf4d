import { expect, test } from 'vitest';
import { until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';
import { useIsolated } from './isolated-bench.js';

const bench = useQueue();
const isolated = useIsolated(bench);

async function pidOf(id: string): Promise<number> {
  const { status, resultado } = await bench.ended(id);
  expect(status).toBe('sucesso');
  const result: unknown = typeof resultado === 'string' ? JSON.parse(resultado) : resultado;
  return (result as { readonly pid: number }).pid;
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('an isolated handler runs in a process, whose transaction commits with its success, and that ends with its parent', async () => {
  const { queue, close } = await isolated.startInProcesses();
  const id = await queue.insertTask({ topic: 'process', payload: {} });
  const pid = await pidOf(id);
  expect(pid).not.toBe(process.pid);
  expect(await isolated.effects()).toContain(id);
  expect(runs(pid)).toBe(true);
  await close();
  expect(runs(pid)).toBe(false);
});

test.each([
  ['crash', 'the process of the handler was killed by SIGSEGV (no attempts left)'],
  ['exit', 'the process of the handler exited with code 3 (no attempts left)'],
  [
    'exhaust',
    'the process of the handler was killed by SIGABRT, as when it runs out of memory (isolation.maxMemoryMb is 64) (no attempts left)',
  ],
])('a process that ends by %s fails its task only, and is replaced', async (then, mensagem) => {
  const { queue } = await isolated.startInProcesses({ processes: 1, maxMemoryMb: 64 });
  const before = await pidOf(await queue.insertTask({ topic: 'process', payload: {} }));
  const id = await queue.insertTask({ topic: 'process', payload: { then } });
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', mensagem });
  expect(await isolated.effects()).not.toContain(id);
  const after = await pidOf(await queue.insertTask({ topic: 'process', payload: {} }));
  expect(after).not.toBe(before);
});

test('a handler that blocks its process is ended by its timeout', async () => {
  const { queue } = await isolated.startInProcesses();
  const id = await queue.insertTask({ topic: 'process spin' });
  expect(await bench.ended(id)).toMatchObject({
    status: 'falha',
    mensagem: 'ProcessHandlers.spin did not end within its timeoutMs (3000) (no attempts left)',
  });
  expect(await isolated.effects()).not.toContain(id);
});

test('one that does not stop at shutdown is ended with its process; nothing of it is kept', async () => {
  const { queue, close } = await isolated.startInProcesses({}, { shutdownTimeoutMs: 50 });
  const id = await queue.insertTask({ topic: 'process', payload: { then: 'hold' } });
  await until(async () => {
    const { rows } = await bench.pool.query("select 1 as one from tasks where processo = 'holding'");
    return rows.length > 0;
  }, 'the handler to hold');
  await close();
  expect(await bench.statusOf(id)).not.toBe('sucesso');
  expect(await isolated.effects()).not.toContain(id);
});
