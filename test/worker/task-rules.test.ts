import { expect, test } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent } from '../support/waiting.js';
import { useQueue, type AttemptRow } from './queue-bench.js';

// What a producer asks for with a task, in place of what its handler says.

const bench = useQueue();

class Handlers {
  @TaskHandler('fail', { maxAttempts: 2, retryDelayMs: 0 })
  fail(): void {
    throw new Error('boom');
  }

  /** Has attempts of its own, whatever its task asked for. */
  @DeadTaskHandler('fail', { maxAttempts: 2, retryDelayMs: 0 })
  dead(): void {
    throw new Error('boom again');
  }

  @TaskHandler('hang', { maxAttempts: 1, timeoutMs: 60_000 })
  hang(_: unknown, { signal }: TaskContext): Promise<void> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  }

  @Subscriber('mail', { retryDelayMs: 0 })
  mail(): void {
    throw new Error('boom');
  }
}

const options = { handlers: [Handlers], recovery: { intervalMs: 100, confirmMs: 50, graceMs: 0 } };

/** Its attempts, without the dead task's. */
const live = (chain: readonly AttemptRow[]): number[] =>
  chain.filter(({ dead }) => !dead).map(({ tentativa }) => tentativa);

test.each([
  { maxAttempts: 1, attempts: [1] },
  { maxAttempts: 3, attempts: [1, 2, 3] },
  { maxAttempts: undefined, attempts: [1, 2] },
])('a task may have attempts of its own: $maxAttempts', async ({ maxAttempts, attempts }) => {
  const { queue } = await bench.start(options);
  const id = await queue.insertTask({ topic: 'fail', maxAttempts, metadata: { requestId: 'b7f' } });
  const chain = await bench.endedChain(id, attempts.length + 2);
  expect(live(chain)).toEqual(attempts);
  expect(chain.filter(({ dead }) => dead)).toHaveLength(2);
});

test('each delivery of a publication has what the publication asks for', async () => {
  const { queue } = await bench.start(options);
  await subscribe(bench.database, [{ id: 'mail', processo: 'news' }]);
  await queue.insertTaskPubSub({ topic: 'news', maxAttempts: 1 });
  const { rows } = await bench.pool.query<{ id: string }>('select id from tasks where pub_sub');
  await bench.ended(String(rows[0]?.id));
  const { rows: deliveries } = await bench.pool.query<{ id: string }>(
    `select id from tasks where subscriber_id = 'mail' and not dead`,
  );
  expect(await bench.ended(String(deliveries[0]?.id))).toMatchObject({
    tentativa: 1,
    estouro_tentativas: true,
  });
});

test('an attempt ends after the time that its task allows', async () => {
  const { queue } = await bench.start(options);
  const id = await queue.insertTask({ topic: 'hang', timeoutMs: 50 });
  expect((await bench.ended(id)).mensagem).toContain('did not end within its timeoutMs (50)');
});

test('attempts of a lost worker count by it too', async () => {
  await bench.start(options);
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, status, executor, reserva, iniciada_em, metadados)
     values ('fail', 'processando', 4711, 1, now(), '{"tarefa:maxAttempts": 1}') returning id`,
  );
  expect(await bench.ended(String(rows[0]?.id))).toMatchObject({ estouro_tentativas: true });
});

test('SQL says it in the metadata, where nonsense is told of and the handler’s rule counts', async () => {
  const { events } = await bench.start(options);
  const warned = nextEvent(events, 'warning', ({ message }) => message.includes('tarefa:maxAttempts'));
  await bench.pool.query(
    `insert into tasks (processo, metadados) values ('fail', '{"tarefa:maxAttempts": "once"}')`,
  );
  expect((await warned).message).toMatch(
    /failed, and its metadata has "tarefa:maxAttempts": "once", which is not a whole number from 1 to 1000000/,
  );
  const { rows } = await bench.pool.query<{ id: string }>('select id from tasks order by id limit 1');
  expect(live(await bench.endedChain(String(rows[0]?.id), 4))).toEqual([1, 2]);
});
