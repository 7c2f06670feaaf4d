import { Injectable } from '@nestjs/common';
import { afterAll, expect, test } from 'vitest';
import { Subscriber, TaskHandler, UnrecoverableError, type TaskContext } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { sqlUnder } from './documents.js';

const guide = 'docs/guides/monitoring.md';
const release = deferred();

@Injectable()
class Handlers {
  @Subscriber('search-index')
  index(): string {
    return 'indexed';
  }

  @Subscriber('stock', { maxAttempts: 2, retryDelayMs: 0 })
  reserve(): never {
    throw new Error('out of stock');
  }

  @TaskHandler('report', { concurrency: 1 })
  async report(_payload: unknown, { task }: TaskContext): Promise<string> {
    if (task.externalKey === 'hopeless') throw new UnrecoverableError('hopeless');
    await release.promise;
    return 'done';
  }
}

const database = await useDatabase();
/** A queue with tasks in every state; nothing changes any more. */
const app = await useApp(database, { queue: 'shop_queue', handlers: [Handlers] });
await database.pool.query(
  "insert into shop_queue_subscriber (id, processo) values ('search-index', 'order-placed'), ('stock', 'order-placed')",
);
const { queue } = app;
const publicationId = await queue.insertTaskPubSub({ topic: 'order-placed', payload: { id: 1 } });
await queue.insertTask({ topic: 'report', externalKey: 'hopeless' });
await settled(6);
await queue.insertTask({ topic: 'report', externalKey: 'runs' });
await until(async () => app.worker.running === 1, 'the report runs');
await queue.insertTask({ topic: 'report', externalKey: 'waits' });
await queue.insertTask({ topic: 'survey', delayMs: 3_600_000 });
await queue.insertTask({ topic: 'survey', delayMs: 7_200_000 });

afterAll(() => release.resolve());

test('how many, of what, in which state', async () => {
  expect(await answers('How many, of what, in which state')).toEqual([
    {
      topic: 'order-placed',
      subscription_id: 'search-index',
      is_dead: false,
      status: 'succeeded',
      count: '1',
    },
    { topic: 'order-placed', subscription_id: 'stock', is_dead: false, status: 'failed', count: '1' },
    { topic: 'order-placed', subscription_id: 'stock', is_dead: true, status: 'succeeded', count: '1' },
    { topic: 'order-placed', subscription_id: null, is_dead: false, status: 'succeeded', count: '1' },
    { topic: 'report', subscription_id: null, is_dead: false, status: 'failed', count: '1' },
    { topic: 'report', subscription_id: null, is_dead: false, status: 'pending', count: '1' },
    { topic: 'report', subscription_id: null, is_dead: false, status: 'processing', count: '1' },
    { topic: 'report', subscription_id: null, is_dead: true, status: 'succeeded', count: '1' },
    { topic: 'survey', subscription_id: null, is_dead: false, status: 'scheduled', count: '2' },
  ]);
});

test('what waits and what runs', async () => {
  expect(await answers('The oldest that waits')).toMatchObject([
    { topic: 'report', subscription_id: null, waiting: '1' },
  ]);
  const [running, ...others] = await answers('What runs, for how long, and where');
  expect(running).toMatchObject({ topic: 'report', attempts: 1, pid: process.pid });
  expect(others).toEqual([]);
});

test('attempts that failed, and tasks that gave up', async () => {
  expect(await answers('Attempts that failed in the last hour')).toMatchObject([
    { topic: 'order-placed', subscription_id: 'stock', failed: '2', tried_again: '1' },
    { topic: 'report', failed: '1', tried_again: '0' },
  ]);
  const gaveUp = await answers('Tasks that gave up');
  expect(gaveUp).toHaveLength(2);
  expect(gaveUp).toContainEqual(
    expect.objectContaining({
      external_key: 'hopeless',
      attempts: 1,
      reason: 'hopeless (no attempts left)',
      dead_status: 'succeeded',
      dead_message: expect.stringContaining('manual intervention is needed') as string,
    }),
  );
});

test('tasks that gave up are told apart by whether a dead handler has dealt with them', async () => {
  const [, numbers = ''] = sqlUnder(guide, 'Tasks that gave up');
  expect(await ask(numbers)).toMatchObject([{ treated: '0', untreated: '2' }]);
});

test('every attempt of a task', async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    "select id from shop_queue where subscriber_id = 'stock' and id_anterior is null and not dead",
  );
  const [, , attempts] = sqlUnder(guide, 'Tasks that gave up');
  expect(await ask(attempts, rows[0]?.id)).toMatchObject([
    { tentativa: 1, status: 'falha', erro: expect.stringContaining('out of stock') as string },
    { tentativa: 2, status: 'falha', mensagem: 'out of stock (no attempts left)' },
  ]);
});

test('the deliveries of a publication', async () => {
  const [deliveries] = sqlUnder(guide, 'The deliveries of a publication');
  expect(await ask(deliveries, publicationId)).toMatchObject([
    { subscription_id: 'search-index', is_dead: false, status: 'succeeded', message: 'indexed' },
    { subscription_id: 'stock', is_dead: false, status: 'failed', attempts: 2 },
    { subscription_id: 'stock', is_dead: true, status: 'succeeded' },
  ]);
});

test('what comes next, how long tasks took, and who works', async () => {
  const next = await answers('What comes next');
  expect(next.map(({ topic }) => topic)).toEqual(['survey', 'survey']);
  expect(next[0]?.['due_at']).toBeInstanceOf(Date);
  const took = await answers('How long tasks wait, and how long they take');
  expect(took.map(({ ended }) => ended)).toEqual(['1', '2', '1', '2']);
  expect(await answers('Workers')).toMatchObject([{ pid: process.pid, concurrency: 10 }]);
});

test('on a large table the cheap queries use the partial indexes', async () => {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    await client.query(
      "insert into shop_queue (processo, status, data_hora) select 'old', 'sucesso', now() - interval '1 day' from generate_series(1, 20000)",
    );
    await client.query('analyze shop_queue');
    for (const query of sqlUnder(guide, 'On a large table')[0]
      ?.split(';')
      .filter((text) => text.trim()) ?? []) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${query}`);
      expect(rows.map((row) => row['QUERY PLAN']).join('\n')).not.toContain('Seq Scan');
    }
  } finally {
    await client.query('rollback');
    client.release();
  }
});

/** What the first query under a heading answers. */
async function answers(heading: string): Promise<Record<string, unknown>[]> {
  return ask(sqlUnder(guide, heading)[0]);
}

/** Runs a query of the guide, in which 17 stands for an id. */
async function ask(query: string | undefined, id = '17'): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>((query ?? '').replace(/\b17\b/, id));
  return rows;
}

/** Waits until so many tasks have ended. */
async function settled(count: number): Promise<void> {
  await until(async () => {
    const { rows } = await database.pool.query<{ n: number }>(
      "select count(*)::int as n from shop_queue_tasks where status in ('succeeded', 'failed')",
    );
    return rows[0]?.n === count;
  }, `${count} tasks have ended`);
}
