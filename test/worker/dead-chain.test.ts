import { expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../lib/index.js';
import { layoutOfRun, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

/** A task that fails for good, and a dead handler that does what it is told to. */
async function startDying(
  dead: (payload: unknown, ctx: TaskContext) => unknown,
  options: QueueAppOptions = {},
) {
  const calls: string[] = [];
  class Dying {
    @TaskHandler('dying')
    live(_: unknown, { task }: TaskContext): void {
      calls.push(`live ${task.attempt}`);
      throw new Error('boom');
    }
    @DeadTaskHandler('dying')
    dead(payload: unknown, ctx: TaskContext): unknown {
      calls.push(`dead ${ctx.task.attempt}`);
      return dead(payload, ctx);
    }
  }
  const app = await bench.start({ handlers: [Dying], maxAttempts: 3, retryIntervalMinutes: 0, ...options });
  const id = await app.queue.insertTask({ topic: 'dying', payload: { a: 1 } });
  return { ...app, id, calls };
}

test('after its last attempt a task runs in the dead handler, once, and stays failed', async () => {
  const { id, calls } = await startDying((payload, { task }) => {
    expect(payload).toEqual({ a: 1 });
    expect(task).toMatchObject({ dead: true, attempt: 1, liveId: id, topic: 'dying' });
    expect(task.firstAttemptId).toBe(task.id);
    return 'refunded';
  });
  const chain = await bench.endedChain(id, 4);
  expect(calls).toEqual(['live 1', 'live 2', 'live 3', 'dead 1']);
  expect(chain.map(({ status, tentativa, dead }) => [status, tentativa, dead])).toEqual([
    ['falha', 1, false],
    ['falha', 2, false],
    ['falha', 3, false],
    ['sucesso', 1, true],
  ]);
  expect(chain[2]).toMatchObject({ estouro_tentativas: true, reenfileirado: false, proxima_tentativa: null });
  expect(chain[3]).toMatchObject({ live_id: id, id_inicial: null, id_anterior: null, mensagem: 'refunded' });
});

test('a dead handler that fails is retried by the same rules', async () => {
  const { id, calls } = await startDying((payload, { task }) => {
    expect(payload).toEqual({ a: 1 });
    if (task.attempt < 3) throw new Error('not yet');
  });
  const chain = await bench.endedChain(id, 6);
  expect(calls.slice(3)).toEqual(['dead 1', 'dead 2', 'dead 3']);
  const first = chain[3]?.id;
  expect(chain.slice(3)).toMatchObject([
    { dead: true, live_id: id, id_inicial: null, status: 'falha', reenfileirado: true },
    { dead: true, live_id: id, id_inicial: first, status: 'falha', reenfileirado: true, payload: null },
    { dead: true, live_id: id, id_inicial: first, status: 'sucesso', payload: null },
  ]);
});

test('a dead chain that runs out of attempts ends there', async () => {
  const { id, calls, queue, events } = await startDying(() => {
    throw new Error('no way');
  });
  const buried: string[] = [];
  events.on('task.buried', ({ task }) => buried.push(task.id));
  const chain = await bench.endedChain(id, 6);
  expect(chain[5]).toMatchObject({ dead: true, estouro_tentativas: true, reenfileirado: false });
  expect(chain[5]?.mensagem).toBe('no way (no attempts left)');
  // Whatever follows would come before the end of another task.
  await bench.endedChain(await queue.insertTask({ topic: 'dying' }), 6);
  expect(await bench.chain(id)).toHaveLength(6);
  expect(calls.filter((call) => call === 'dead 3')).toHaveLength(2);
  expect(buried).toHaveLength(2);
});

test('a dead task can be looked up by what it was the dead chain of: one is never started twice', async () => {
  const { id } = await startDying(() => undefined);
  await bench.endedChain(id, 4);
  const another = bench.pool.query('insert into tasks (processo, dead, live_id) values ($1, true, $2)', [
    'dying',
    id,
  ]);
  // Of partitions no index can see to that: test/storage/partition-guards.
  const outcome = await another.then(
    () => 'inserted',
    (error: Error) => error.message,
  );
  expect(outcome).toMatch(
    layoutOfRun().layout === undefined ? /unique constraint|Duplicate entry/ : /inserted/,
  );
});

test('without a dead handler a dead task ends with a message and a warning that somebody has to look', async () => {
  class Dying {
    @TaskHandler('dying', { maxAttempts: 1 })
    live(): void {
      throw new Error('boom');
    }
  }
  const { queue, events } = await bench.start({ handlers: [Dying] });
  const warnings: string[] = [];
  events.on('warning', ({ message }) => warnings.push(message));
  const id = await queue.insertTask({ topic: 'dying' });
  const [, dead] = await bench.endedChain(id, 2);
  const message = `manual intervention is needed: topic 'dying' gave up, and no dead handler is registered`;
  expect(dead).toMatchObject({ dead: true, status: 'sucesso', mensagem: message });
  await until(async () => warnings.length > 0, 'the warning');
  expect(warnings).toEqual([`task ${id}: ${message}`]);
});

test('the dead handler without topic takes what has none of its own', async () => {
  const calls: unknown[] = [];
  class Handlers {
    @TaskHandler({ maxAttempts: 1 })
    live(): void {
      throw new Error('boom');
    }
    @DeadTaskHandler()
    dead(_: unknown, { task }: TaskContext): void {
      calls.push(['any', task.topic]);
    }
    @DeadTaskHandler('own')
    own(_: unknown, { task }: TaskContext): void {
      calls.push(['own', task.topic]);
    }
  }
  const { queue } = await bench.start({ handlers: [Handlers], concurrency: 1 });
  for (const topic of ['own', 'other', null]) await bench.endedChain(await queue.insertTask({ topic }), 2);
  expect(calls).toEqual([
    ['own', 'own'],
    ['any', 'other'],
    ['any', null],
  ]);
});

test('the options of the dead handler count for the dead chain', async () => {
  class Dying {
    @TaskHandler('dying', { maxAttempts: 1, retryDelayMs: 3_600_000 })
    live(): void {
      throw new Error('boom');
    }
    @DeadTaskHandler('dying', { maxAttempts: 2, retryDelayMs: 0 })
    dead(): void {
      throw new Error('dead boom');
    }
  }
  const { queue } = await bench.start({ handlers: [Dying], maxAttempts: 50 });
  const chain = await bench.endedChain(await queue.insertTask({ topic: 'dying' }), 3);
  expect(chain.map(({ dead, tentativa, estouro_tentativas: last }) => [dead, tentativa, last])).toEqual([
    [false, 1, true],
    [true, 1, false],
    [true, 2, true],
  ]);
});

test('a dead publication is treated by the dead handler of its topic, not delivered', async () => {
  const payloads: unknown[] = [];
  class Dead {
    @DeadTaskHandler('published')
    dead(payload: unknown, { task }: TaskContext): void {
      payloads.push([payload, task.dead]);
    }
    @TaskHandler('published')
    live(): void {
      payloads.push('live');
    }
  }
  const { queue } = await bench.start({ handlers: [Dead], maxAttempts: 1, subscriptionTable: false });
  const id = await queue.insertTaskPubSub({ topic: 'published', payload: { a: 1 } });
  const [live, dead] = await bench.endedChain(id, 2);
  expect(live).toMatchObject({
    status: 'falha',
    mensagem: expect.stringContaining('no subscriptions table'),
  });
  expect(dead).toMatchObject({ status: 'sucesso', pub_sub: true, dead: true });
  expect(payloads).toEqual([[{ a: 1 }, true]]);
});
