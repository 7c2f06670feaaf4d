import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { DetachedHandlers } from '../../support/children/detached-module.js';
import { useDetached } from '../../support/detached-run.js';
import { createEffectTable } from '../../support/worker-process.js';
import { useQueue } from '../queue-bench.js';

// What only a configuration of `pg` can have.
const bench = useQueue();
beforeAll(() => createEffectTable(bench.database));
const detached = useDetached(() => bench.database);

/** In detached processes. */
function connectWithFunction(name: 'password' | 'stream'): void {
  vi.stubEnv('DETACHED_CONNECTION', name);
  onTestFinished(() => void vi.unstubAllEnvs());
}

test('a detached process connects by a password that is a function', async () => {
  connectWithFunction('password');
  const { queue } = await bench.start({ handlers: [DetachedHandlers], ...detached.options });
  const id = await queue.insertTask({ topic: 'long' });
  (await detached.started()).say('succeed');
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', tentativa: 1, reserva: 1 });
});

test('a start is refused whose detached processes could hold no lease', async () => {
  connectWithFunction('stream');
  await expect(bench.start({ handlers: [DetachedHandlers], ...detached.options })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('connection.stream cannot be passed to a thread') as string,
  });
});
