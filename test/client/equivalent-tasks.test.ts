import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type EquivalentTaskInput, type TaskInput, type TaskStatus } from '../../lib/index.js';
import { handleOf, useDatabase } from '../support/database.js';
import { startApp, useApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { withClient } from '../support/with-client.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false });

afterEach(() => pool.query('delete from tasks'));

const task = {
  topic: 'charge',
  payload: { order: 7, note: 'ç 🍵' },
  externalKey: 'order-7',
  origin: 'shop',
  destination: 'bank',
  tenant: '9007199254740993',
  group: 'north',
} as const satisfies EquivalentTaskInput;

const find = async (input: EquivalentTaskInput): Promise<readonly string[]> =>
  (await queue.listEquivalentTask(input)).map(({ id }) => id);

test('it lists the equal task, with all that is known of it', async () => {
  const runAt = new Date('2126-01-02T03:04:05.678Z');
  const id = await queue.insertTask({ ...task, runAt, priority: 7, metadata: { trace: 'abc' } });
  expect(await queue.listEquivalentTask(task)).toEqual([
    {
      id,
      firstAttemptId: id,
      attempt: 1,
      status: 'scheduled',
      topic: 'charge',
      payload: '{"order":7,"note":"ç 🍵"}',
      externalKey: 'order-7',
      origin: 'shop',
      destination: 'bank',
      tenant: '9007199254740993',
      group: 'north',
      priority: 7,
      dueAt: runAt,
      firstDueAt: runAt,
      publication: false,
      publicationId: null,
      subscriptionId: null,
      dead: false,
      liveId: null,
      metadata: { trace: 'abc' },
      message: null,
      result: null,
      error: null,
      nextAttemptAt: null,
      retried: false,
      exhausted: false,
      cancelledBy: null,
      startedAt: null,
      finishedAt: null,
    },
  ]);
});

test('it only lists: equal tasks may be inserted, and are listed oldest first', async () => {
  const ids = [
    await queue.insertTask(task),
    await queue.insertTask(task),
    ...(await queue.insertTasks([task])),
  ];
  expect(await find(task)).toEqual(ids);
});

const others: readonly (readonly [field: keyof typeof task, value: string | null])[] = [
  ['topic', 'refund'],
  ['payload', '{"order":8}'],
  ['externalKey', 'order-8'],
  ['origin', 'mail'],
  ['destination', 'post'],
  ['tenant', '9007199254740992'],
  ['group', 'south'],
];

test.each(others)('a task that differs in nothing but its %s is another', async (field, value) => {
  await queue.insertTask(task);
  const different = { ...task, [field]: value };
  const without = { ...task, [field]: null };
  expect(await find(different)).toEqual([]);
  expect(await find(without)).toEqual([]);
  const id = await queue.insertTask(different);
  expect(await find(different)).toEqual([id]);
});

test.each(['topic', 'origin', 'destination', 'tenant', 'group'] as const)(
  'tasks that both have no %s are equal, one that has an empty or zero one is another',
  async (field) => {
    const { [field]: _, ...without } = task;
    const id = await queue.insertTask(without);
    expect(await find(without)).toEqual([id]);
    expect(await find({ ...without, [field]: null })).toEqual([id]);
    expect(await find({ ...without, [field]: field === 'tenant' ? 0 : '' })).toEqual([]);
  },
);

test('a task without external key or without payload is equivalent to none', async () => {
  const inputs: readonly TaskInput[] = [
    { ...task, externalKey: null },
    { ...task, payload: null },
    { ...task, payload: '' },
  ];
  for (const input of inputs) {
    await queue.insertTask(input);
    expect(await find(input)).toEqual([]);
  }
});

test('payloads are compared as texts: the same data in another order is another payload', async () => {
  const id = await queue.insertTask(task);
  expect(await find({ ...task, payload: '{"order":7,"note":"ç 🍵"}' })).toEqual([id]);
  expect(await find({ ...task, payload: { note: 'ç 🍵', order: 7 } })).toEqual([]);
});

const statuses = {
  agendada: 'scheduled',
  pendente: 'pending',
  processando: 'processing',
  sucesso: 'succeeded',
  falha: 'failed',
} as const;
const byDefault: readonly TaskStatus[] = ['scheduled', 'pending', 'succeeded'];

test.each(Object.entries(statuses))(
  'an attempt in %s is listed when its status is asked for',
  async (column, status) => {
    const id = await queue.insertTask(task);
    await pool.query('update tasks set status = $1', [column]);
    expect(await find(task)).toEqual(byDefault.includes(status) ? [id] : []);
    expect(await find({ ...task, status: [status] })).toEqual([id]);
    const rest = Object.values(statuses).filter((one) => one !== status);
    expect(await find({ ...task, status: rest })).toEqual([]);
    expect(await find({ ...task, status: Object.values(statuses) })).toEqual([id]);
    expect(await find({ ...task, status: [] })).toEqual([]);
  },
);

test('an attempt that nsj-queue-lib wrote off as crashed is a failed one', async () => {
  const id = await queue.insertTask(task);
  await pool.query(`update tasks set status = 'falha_processando'`);
  expect(await queue.listEquivalentTask({ ...task, status: ['failed'] })).toMatchObject([
    { id, status: 'failed' },
  ]);
});

test('a cancelled task is listed when that is asked for, and is no failed one', async () => {
  const id = await queue.insertTask(task);
  await pool.query(`update tasks set status = 'falha', cancelada_por = 'ana'`);
  expect(await find(task)).toEqual([]);
  expect(await find({ ...task, status: ['failed', 'pending'] })).toEqual([]);
  const listed = await queue.listEquivalentTask({ ...task, status: ['cancelled'] });
  expect(listed).toMatchObject([{ id, status: 'cancelled', cancelledBy: 'ana' }]);
});

test('publications and dead tasks match, copies for subscriptions do not', async () => {
  const publication = await queue.insertTaskPubSub(task);
  const dead = await queue.insertTask(task);
  await pool.query('update tasks set dead = true, live_id = 1 where id = $1', [dead]);
  expect(await find(task)).toEqual([publication, dead]);
  expect((await queue.listEquivalentTask(task)).map((one) => [one.publication, one.dead])).toEqual([
    [true, false],
    [false, true],
  ]);
});

test('a task that is being retried is found through its next attempt, with the payload of the first', async () => {
  class Handlers {
    @TaskHandler('charge', { retryDelayMs: 3_600_000 })
    charge(): never {
      throw new Error('no funds');
    }
  }
  const worker = await startApp(database, { handlers: [Handlers] });
  const failed = nextEvent(worker.events, 'task.failed');
  const id = await worker.queue.insertTask(task);
  await failed;
  expect(await queue.listEquivalentTask(task)).toMatchObject([
    { firstAttemptId: id, attempt: 2, status: 'scheduled', payload: '{"order":7,"note":"ç 🍵"}' },
  ]);
  await worker.close();
});

test('in a transaction it sees what that transaction inserted', async () => {
  await withClient(database, async (client) => {
    await client.query('begin');
    const id = await queue.insertTask(task, { tx: handleOf(client) });
    const inside = await queue.listEquivalentTask(task, { tx: handleOf(client) });
    expect(inside.map((one) => one.id)).toEqual([id]);
    expect(await find(task)).toEqual([]);
  });
});

test('a status or a field that does not exist is refused', async () => {
  const status = ['pendente'] as unknown as readonly TaskStatus[];
  await expect(queue.listEquivalentTask({ ...task, status })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message:
      '"pendente" is not a status; the statuses are scheduled, pending, processing, succeeded, failed, cancelled',
  });
  const input = { ...task, key: 'order-7' } as EquivalentTaskInput;
  await expect(queue.listEquivalentTask(input)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});
