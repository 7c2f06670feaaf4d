import { beforeAll, expect, test, vi } from 'vitest';
import { QueueAdmin, type IsolationOptions } from '../../../lib/index.js';
import { DetachedHandlers } from '../../support/children/detached-module.js';
import { useDetached } from '../../support/detached-run.js';
import type { QueueApp } from '../../support/queue-app.js';
import { createEffectTable } from '../../support/worker-process.js';
import { nextEvent, until } from '../../support/waiting.js';
import { useQueue } from '../queue-bench.js';

// Before the handlers are declared, here and in their processes.
vi.hoisted(() => (process.env['DETACHED_CONCURRENCY'] = '2'));

const bench = useQueue();
beforeAll(() => createEffectTable(bench.database));
const detached = useDetached(() => bench.database);

function start(isolation: Partial<IsolationOptions> = {}): Promise<QueueApp> {
  const { options } = detached;
  const { module = '' } = options.isolation ?? {};
  return bench.start({
    handlers: [DetachedHandlers],
    ...options,
    isolation: { ...options.isolation, module, ...isolation },
  });
}

test('no more run of a handler than its concurrency, though its worker has all slots back', async () => {
  const { queue, worker, events } = await start();
  const ids = await queue.insertTasks([{ topic: 'long' }, { topic: 'long' }, { topic: 'long' }]);
  const [one, other] = [await detached.started(), await detached.started(1)];
  await until(async () => worker.running === 0, 'the slots to be free');
  // What was inserted later is done, so the worker has looked.
  const done = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'inline' });
  await done;
  const waiting = ids.filter((id) => id !== one.id && id !== other.id);
  expect(waiting).toHaveLength(1);
  expect(await bench.row(waiting[0] ?? '')).toMatchObject({ status: 'pendente', reserva: 0 });
  one.say('succeed');
  const last = await detached.started(2);
  expect(last.id).toBe(waiting[0]);
  for (const child of [other, last]) child.say('succeed');
  for (const id of ids) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso', tentativa: 1 });
});

test.each([
  ['exit', '(exited with code 3)'],
  ['crash', '(was killed by SIGSEGV)'],
  ['exhaust', '(was killed by SIGABRT, as when it runs out of memory (isolation.maxMemoryMb is 64))'],
] as const)(
  'a detached process that ends by %s fails its task only, which is due again',
  async (word, how) => {
    const { queue } = await start({ maxMemoryMb: 64 });
    const beside = await queue.insertTask({ topic: 'long' });
    const neighbour = await detached.started();
    const id = await queue.insertTask({ topic: 'long' });
    (await detached.started(1)).say(word);
    const again = await detached.started(2);
    expect(again).toMatchObject({ task: id, attempt: 2 });
    expect((await bench.row(id)).mensagem).toContain(how);
    expect(neighbour.isThere).toBe(true);
    for (const child of [neighbour, again]) child.say('succeed');
    expect(await bench.ended(beside)).toMatchObject({ status: 'sucesso', tentativa: 1 });
    await bench.endedChain(id, 2);
    expect(detached.mostAtOnce).toBe(1);
  },
);

test('a detached handler that goes on after it was told to stop is ended with its process', async () => {
  const { queue, app } = await start();
  const id = await queue.insertTask({ topic: 'long' });
  const child = await detached.started();
  await app.get(QueueAdmin).cancel(id, { by: 'ana' });
  await until(async () => child.words.includes('aborted'), 'the handler to be told');
  await until(async () => !child.isThere, 'the process to end');
  expect(await bench.ended(id)).toMatchObject({ status: 'falha', cancelada_por: 'ana' });
  expect(await bench.chain(id)).toHaveLength(1);
});
