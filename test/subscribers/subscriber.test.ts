import { Inject, Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import { DeadSubscriber, Subscriber, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { ownSql } from '../support/run-database.js';

const bench = useQueue();

interface Call {
  readonly method: string;
  readonly payload: unknown;
  readonly ctx: TaskContext;
  readonly greeting: string;
}

/** Subscribers that note their calls, and fail for good when they are told to. */
async function startSubscribers({ fails = false } = {}) {
  const calls: Call[] = [];
  const note = (call: Call): void => {
    calls.push(call);
    if (fails && !call.ctx.task.dead) throw new Error('boom');
  };
  @Injectable()
  class Greeter {
    greet = (name: string): string => `olá ${name}`;
  }
  @Injectable()
  class Subscribers {
    constructor(@Inject(Greeter) private readonly greeter: Greeter) {}
    @Subscriber('a')
    async live(payload: unknown, ctx: TaskContext): Promise<void> {
      await ctx.db.query(ownSql('insert into effect values ($1)'), [ctx.task.id]);
      note({ method: 'live', payload, ctx, greeting: this.greeter.greet('a') });
    }
    @DeadSubscriber('a')
    async dead(payload: unknown, ctx: TaskContext): Promise<void> {
      await ctx.db.query(ownSql('insert into effect values ($1)'), [ctx.task.id]);
      note({ method: 'dead', payload, ctx, greeting: this.greeter.greet('dead a') });
    }
    @Subscriber('without dead')
    live2(payload: unknown, ctx: TaskContext): void {
      note({ method: 'live2', payload, ctx, greeting: '' });
    }
    @Subscriber('text', { payload: 'text' })
    text(payload: unknown, ctx: TaskContext): void {
      note({ method: 'text', payload, ctx, greeting: '' });
    }
  }
  await bench.pool.query('create table if not exists effect (task bigint not null)');
  const app = await bench.start({ handlers: [Subscribers, Greeter], maxAttempts: 1 });
  return { ...app, calls };
}

async function subscribe(id: string, columns: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const all = { id, processo: 'order-placed', ...columns };
  const names = Object.keys(all);
  await bench.pool.query(
    `insert into tasks_subscriber (${names.join(', ')}) values (${names.map((_, n) => `$${n + 1}`).join(', ')})`,
    Object.values(all),
  );
}

async function published(calls: readonly Call[], count: number): Promise<void> {
  await until(async () => calls.length >= count, `${count} calls`);
}

test('a subscriber receives the payload, the subscription, the task and the transaction', async () => {
  const { queue, calls } = await startSubscribers();
  const subscription = {
    tenant: '9007199254740993',
    grupo_empresarial: 'g1',
    url: 'http://localhost/hook',
    http_method: 'POST',
    headers: { 'x-key': 'v' },
  };
  await subscribe('a', subscription);
  const order = { id: 7, when: '2024-01-02', uuid: '6ba7b810-9dad-11d1-80b4-00c04fd430c8', note: 'é 😀' };
  const publicationId = await queue.insertTaskPubSub({
    topic: 'order-placed',
    payload: order,
    externalKey: 'order-7',
    tenant: '9007199254740993',
    group: 'g1',
    priority: 70,
    metadata: { trace: 'abc' },
  });
  await published(calls, 1);
  const [call] = calls;
  // The objects are the publication's: nothing in them became a date or anything else.
  expect(call).toMatchObject({ method: 'live', payload: order, greeting: 'olá a' });
  expect(call?.ctx.subscription).toEqual({
    id: 'a',
    topic: 'order-placed',
    tenant: '9007199254740993',
    group: 'g1',
    url: 'http://localhost/hook',
    httpMethod: 'POST',
    headers: { 'x-key': 'v' },
  });
  expect(call?.ctx.task).toMatchObject({
    topic: 'order-placed',
    subscriptionId: 'a',
    publicationId,
    externalKey: 'order-7',
    priority: 70,
    metadata: { trace: 'abc' },
    attempt: 1,
    dead: false,
  });
  const id = call?.ctx.task.id ?? '';
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect((await bench.pool.query('select from effect where task = $1', [id])).rowCount).toBe(1);
});

test('the subscription is what it was when the publication was delivered', async () => {
  const { queue, worker, calls } = await startSubscribers({ fails: true });
  await subscribe('a', { url: 'http://old' });
  await queue.insertTaskPubSub({ topic: 'order-placed', payload: {} });
  await published(calls, 2);
  await bench.pool.query(`update tasks_subscriber set url = 'http://new'`);
  await queue.insertTaskPubSub({ topic: 'order-placed', payload: {} });
  await published(calls, 4);
  await bench.pool.query('delete from tasks_subscriber');
  await worker.stop();
  expect(calls.map(({ method, ctx }) => [method, ctx.subscription?.url])).toEqual([
    ['live', 'http://old'],
    ['dead', 'http://old'],
    ['live', 'http://new'],
    ['dead', 'http://new'],
  ]);
});

test.each([
  { payload: undefined, arrives: null, text: null },
  { payload: '', arrives: '', text: '' },
  { payload: 'plain text', arrives: 'plain text', text: 'plain text' },
  { payload: '2024-01-01', arrives: '2024-01-01', text: '2024-01-01' },
  { payload: '{not json', arrives: '{not json', text: '{not json' },
  { payload: [1, 'two'], arrives: [1, 'two'], text: '[1,"two"]' },
  { payload: { publication: 'p', subscription: {} }, arrives: { publication: 'p', subscription: {} } },
])('a published $payload arrives as $arrives', async ({ payload, arrives, text }) => {
  const { queue, calls } = await startSubscribers();
  await subscribe('a');
  await subscribe('text');
  await queue.insertTaskPubSub({ topic: 'order-placed', payload });
  await published(calls, 2);
  expect(calls.find(({ method }) => method === 'live')?.payload).toEqual(arrives);
  expect(calls.find(({ method }) => method === 'text')?.payload).toBe(
    text === undefined ? JSON.stringify(payload) : text,
  );
});

test('the dead subscriber receives the same, the id without one gets the default treatment', async () => {
  const { queue, calls } = await startSubscribers({ fails: true });
  await subscribe('a', { url: 'http://a' });
  await subscribe('without dead');
  const publicationId = await queue.insertTaskPubSub({ topic: 'order-placed', payload: { id: 7 } });
  await published(calls, 3);
  const dead = calls.find(({ method }) => method === 'dead');
  const live = calls.find(({ method }) => method === 'live');
  expect(dead).toMatchObject({ payload: { id: 7 }, greeting: 'olá dead a' });
  expect(dead?.ctx.subscription).toEqual(live?.ctx.subscription);
  expect(dead?.ctx.task).toMatchObject({
    dead: true,
    liveId: live?.ctx.task.id,
    publicationId,
    subscriptionId: 'a',
  });
  expect(dead?.ctx.task.key).toBe(live?.ctx.task.key);
  const id = dead?.ctx.task.id ?? '';
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  expect((await bench.pool.query('select from effect where task = $1', [id])).rowCount).toBe(1);

  const other = calls.find(({ method }) => method === 'live2')?.ctx.task.id ?? '';
  const [, treated] = await bench.endedChain(other, 2);
  expect(treated).toMatchObject({
    status: 'sucesso',
    mensagem: `manual intervention is needed: subscription 'without dead' gave up, and no dead handler is registered`,
  });
});

test('a delivery that some program inserted without envelope fails with a message', async () => {
  await startSubscribers();
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, subscriber_id, payload) values ('order-placed', 'a', '{"id":7}') returning id`,
  );
  const row = await bench.ended(rows[0]?.id ?? '');
  expect(row).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('is not an envelope') });
});
