import { expect, test } from 'vitest';
import { Subscriber, TaskHandler } from '../../../lib/index.js';
import { useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { readColumns } from './catalog.js';

const database = await useDatabase();
const { pool } = database;

class Handlers {
  @TaskHandler('works')
  works(): string {
    return 'done';
  }

  @TaskHandler('waits', { retryDelayMs: 3_600_000 })
  waits(): never {
    throw new Error('carrier closed');
  }

  @TaskHandler('dies', { maxAttempts: 2, retryDelayMs: 0 })
  dies(): never {
    throw new Error('no such order');
  }

  @Subscriber('mail')
  mail(): { readonly sent: boolean } {
    return { sent: true };
  }
}

test('the view shows one row per logical task, as it stands now', async () => {
  const { queue, worker, close } = await startApp(database, { handlers: [Handlers] });
  await pool.query(`insert into tasks_subscriber (id, processo) values ('mail', 'placed')`);
  const done = await queue.insertTask({
    topic: 'works',
    origin: 'shop',
    destination: 'post',
    externalKey: 'k1',
    tenant: 7,
    group: 'g',
    priority: 60,
    metadata: { trace: 'abc' },
  });
  const retried = await queue.insertTask({ topic: 'waits' });
  const died = await queue.insertTask({ topic: 'dies' });
  const published = await queue.insertTaskPubSub({ topic: 'placed', payload: 'letter' });
  const future = await queue.insertTask({ topic: 'works', delayMs: 3_600_000 });
  await until(async () => {
    const { rowCount } = await pool.query(
      `select from tasks where status in ('pendente', 'processando') or (status = 'agendada' and data_hora <= now())`,
    );
    return rowCount === 0;
  }, 'nothing to do');

  const { rows } = await pool.query<Record<string, unknown>>(`
    select task_id, status, attempts, topic, message, result, is_publication, publication_id, subscription_id, is_dead,
      live_task_id, started_at is not null as started, finished_at is not null as finished, attempt_id = task_id as first
    from tasks_tasks order by is_dead, publication_id nulls first, task_id`);
  const fresh = {
    attempts: 1,
    is_publication: false,
    publication_id: null,
    subscription_id: null,
    is_dead: false,
    live_task_id: null,
    result: null,
  };
  const ended = { started: true, finished: true };
  expect(rows).toMatchObject([
    {
      ...fresh,
      ...ended,
      task_id: done,
      status: 'succeeded',
      topic: 'works',
      message: 'done',
      first: true,
    },
    {
      ...fresh,
      task_id: retried,
      status: 'retrying',
      attempts: 2,
      topic: 'waits',
      message: null,
      started: false,
      finished: false,
      first: false,
    },
    {
      ...fresh,
      ...ended,
      task_id: died,
      status: 'failed',
      attempts: 2,
      topic: 'dies',
      message: expect.stringContaining('no such order'),
      first: false,
    },
    {
      ...fresh,
      ...ended,
      task_id: published,
      status: 'succeeded',
      is_publication: true,
      topic: 'placed',
      first: true,
    },
    { ...fresh, task_id: future, status: 'scheduled', first: true, started: false },
    {
      ...fresh,
      ...ended,
      status: 'succeeded',
      publication_id: published,
      subscription_id: 'mail',
      result: '{"sent":true}',
      topic: 'placed',
      first: true,
    },
    {
      ...fresh,
      ...ended,
      status: 'succeeded',
      is_dead: true,
      live_task_id: died,
      topic: 'dies',
      first: true,
    },
  ]);

  const whole = await pool.query('select * from tasks_tasks where task_id = $1', [done]);
  expect(whole.rows).toMatchObject([
    {
      origin: 'shop',
      destination: 'post',
      external_key: 'k1',
      tenant: '7',
      tenant_group: 'g',
      priority: 60,
      worker_id: worker.id,
      replay: 0,
      metadata: { trace: 'abc' },
      due_at: expect.any(Date),
      first_due_at: expect.any(Date),
    },
  ]);
  await close();
});

test('the names of its columns are fixed: monitors are written against them', async () => {
  expect((await readColumns(pool, 'tasks_tasks')).map(([name]) => name)).toEqual([
    'task_id',
    'attempt_id',
    'status',
    'attempts',
    'topic',
    'origin',
    'destination',
    'external_key',
    'tenant',
    'tenant_group',
    'priority',
    'first_due_at',
    'due_at',
    'started_at',
    'finished_at',
    'message',
    'result',
    'is_publication',
    'publication_id',
    'subscription_id',
    'is_dead',
    'live_task_id',
    'worker_id',
    'replay',
    'metadata',
    'cancelled_by',
    'is_buried',
    'is_treated',
  ]);
});
