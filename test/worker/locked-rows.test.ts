import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

/** A task whose handler waits to be told to end, with its row locked by another session, and room for others. */
async function startLocked({ topic, concurrency = 1 }: { topic: string; concurrency?: number }) {
  const working = deferred();
  const end = deferred();
  const work = (): Promise<void> => {
    working.resolve();
    return end.promise;
  };
  class Handlers {
    @TaskHandler('batch')
    batch(): Promise<void> {
      return work();
    }
    @TaskHandler('transaction')
    async transaction(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
      await work();
    }
    @TaskHandler('other')
    other(payload: string): void {
      if (payload === 'fail') throw new Error('failed meanwhile');
    }
  }
  const app = await bench.start({
    handlers: [Handlers],
    concurrency,
    maxAttempts: 1,
    shutdownTimeoutMs: 300,
  });
  const id = await app.queue.insertTask({ topic });
  await working.promise;
  const session = await bench.connect();
  await session.query('begin');
  await session.query('select from tasks where id = $1 for update', [id]);
  return { ...app, id, end, release: () => session.query('rollback') };
}

test.each([
  { topic: 'batch', concurrency: 1, fails: false },
  { topic: 'batch', concurrency: 1, fails: true },
  { topic: 'transaction', concurrency: 2, fails: false },
  { topic: 'transaction', concurrency: 1, fails: true },
])(
  'a row that is locked when it ends holds up nobody and is settled later ($topic, concurrency $concurrency, fails: $fails)',
  async (given) => {
    const { queue, id, end, release } = await startLocked(given);
    if (given.fails) end.reject(new Error('boom'));
    else end.resolve();
    for (const payload of ['succeed', 'fail', 'succeed']) {
      const row = await bench.ended(await queue.insertTask({ topic: 'other', payload }));
      expect(row['status']).toBe(payload === 'fail' ? 'falha' : 'sucesso');
    }
    expect(await bench.row(id)).toMatchObject({ status: 'processando', mensagem: null });
    await release();
    expect(await bench.ended(id)).toMatchObject({ status: given.fails ? 'falha' : 'sucesso', reserva: 1 });
  },
);

test('a row that stays locked does not keep the application from closing', async () => {
  const { id, end, close, release } = await startLocked({ topic: 'batch' });
  end.resolve();
  await close();
  expect(await bench.row(id)).toMatchObject({ status: 'processando' });
  await release();
});
