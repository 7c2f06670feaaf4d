import { expect, test } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { onPostgres, unlessTold } from '../support/run-database.js';

const bench = useQueue();

class Handlers {
  readonly seen: unknown[] = [];

  @TaskHandler('a', { concurrency: 1 })
  a(payload: unknown): void {
    this.seen.push(payload);
  }

  @TaskHandler('failing')
  failing(): void {
    throw new Error('boom');
  }

  @Subscriber('copies')
  copies(payload: unknown): void {
    this.seen.push(payload);
  }
}

class Everything {
  readonly seen: unknown[] = [];

  @TaskHandler()
  every(payload: unknown): void {
    this.seen.push(payload);
  }
}

test('tasks with a key run beside those without, whoever rings for them: a limited handler serves both', async () => {
  const { app } = await bench.start({ handlers: [Handlers], pollIntervalMs: unlessTold });
  const { seen } = app.get(Handlers);
  await bench.pool.query(`insert into tasks (processo, payload, chave_fila) values ('a', 'alone', 'o:1')`);
  await until(async () => seen.length === 1, 'the one whose ring names its route');
  await bench.pool.query(`insert into tasks (processo, payload, chave_fila)
    select 'a', 'many', case when n % 2 = 0 then 'o:' || n end from generate_series(1, 60) n`);
  await until(async () => seen.length === 61, 'those whose ring names none');
  expect(seen).toEqual(['alone', ...Array.from({ length: 60 }, () => 'many')]);
});

test.each(['age', 'fair'] as const)(
  'order %s: a handler for every topic serves thousands of topics and keys, each task once',
  async (order) => {
    const { app, worker } = await bench.start({
      handlers: [Everything],
      order,
      autoStart: false,
      concurrency: 50,
      pollIntervalMs: unlessTold,
    });
    const count = onPostgres ? 5_000 : 1_000;
    await bench.pool.query(`insert into tasks (processo, payload, chave_fila)
      select 'topic' || (n % 2500), n::text, case when n % 5 = 0 then 'k' || n end from generate_series(1, ${count}) n`);
    await worker.start();
    const { seen } = app.get(Everything);
    await until(async () => seen.length === count, 'all have run');
    expect(new Set(seen).size).toBe(count);
  },
);

test('a replay whose unique key is taken is refused, and the task stays as it is', async () => {
  const { app, worker } = await bench.start({ handlers: [Handlers], maxAttempts: 1 });
  const insert = async (): Promise<string> => {
    const { rows } = await bench.pool.query<{ id: string }>(
      `insert into tasks (processo, chave_unica) values ('failing', 'v:same') returning id`,
    );
    return String(rows[0]?.id);
  };
  const id = await insert();
  await bench.endedChain(id, 2);
  await worker.stop();
  const other = await insert();
  await expect(insert()).rejects.toMatchObject({ code: onPostgres ? '23505' : 'ER_DUP_ENTRY' });
  await expect(app.get(QueueAdmin).retry(id)).rejects.toMatchObject({
    message: expect.stringContaining('another task has its unique key'),
  });
  expect(await bench.row(id)).toMatchObject({ status: 'falha', reenfileirado: false });
  await app.get(QueueAdmin).cancel(other);
  await app.get(QueueAdmin).retry(id);
  expect(await bench.row(id)).toMatchObject({ reenfileirado: true });
});

test('next attempts, replays and deliveries keep keys and batch, dead tasks leave them', async () => {
  const { app } = await bench.start({ handlers: [Handlers], maxAttempts: 2, retryIntervalMinutes: 0 });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, chave_unica, chave_fila, lote) values ('failing', 'v:one', 'o:one', 7) returning id`,
  );
  const id = String(rows[0]?.id);
  const [first, second, dead] = await bench.endedChain(id, 3);
  const kept = { chave_unica: 'v:one', chave_fila: 'o:one', lote: '7' };
  expect([first, second]).toMatchObject([kept, kept]);
  expect(dead).toMatchObject({ dead: true, chave_unica: null, chave_fila: null, lote: null });
  const restarted = await app.get(QueueAdmin).retry(id);
  expect(await bench.row(restarted)).toMatchObject(kept);

  await bench.pool.query(`insert into tasks_subscriber (id, processo) values ('copies', 'published')`);
  await bench.pool.query(
    `insert into tasks (processo, pub_sub, chave_unica, chave_fila, lote) values ('published', true, 'v:two', 'o:two', 8)`,
  );
  await until(async () => {
    const { rows: copies } = await bench.pool.query(
      `select chave_unica, chave_fila, lote from tasks where subscriber_id = 'copies'`,
    );
    if (copies.length === 0) return false;
    expect(copies).toEqual([{ chave_unica: null, chave_fila: 'o:two', lote: '8' }]);
    return true;
  }, 'the delivery is made');
});
