import { types } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { QueueTester } from '../../lib/testing/index.js';
import { startDashboardApp } from '../dashboard/kit/dashboard-app.js';
import { ask } from '../dashboard/kit/ask.js';
import { connectionNames } from '../support/connections.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

/** What an application has made of a value: nothing that a text, a number or a date can be read from. */
class Own {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  get said(): string {
    return `own ${this.#text}`;
  }
}

const getParser = types.getTypeParser as (type: number) => (text: string) => unknown;
const setParser = types.setTypeParser as (type: number, parse: (text: string) => unknown) => void;

/** Types that `pg` reads as something else than text. */
const read = [
  16, 17, 20, 21, 23, 26, 114, 700, 701, 1000, 1005, 1007, 1009, 1015, 1016, 1082, 1114, 1184, 1185, 1186,
];
const others = [1700, 2950, 3802, 1003, 2205, 5069];
const before = new Map([...read, ...others].map((type) => [type, getParser(type)]));

beforeAll(() => {
  for (const type of before.keys()) setParser(type, (text) => new Own(text));
});
afterAll(() => {
  for (const [type, parser] of before) setParser(type, parser);
});

class Handlers {
  readonly seen: unknown[] = [];
  @TaskHandler('work')
  async work(_: unknown, { db }: TaskContext): Promise<{ ok: boolean }> {
    const { rows } = await db.query('select 1 as number, now() as moment');
    this.seen.push(rows[0]);
    return { ok: true };
  }
  @Subscriber('index', { topic: 'paid' })
  index(): void {}
}

const ended = { status: 'succeeded', attempt: 1, priority: 50, tenant: '7', dead: false, metadata: { a: 1 } };

test('a worker and its admin read what they need, and handlers what their application does', async () => {
  const { app, queue } = await bench.start({ handlers: [Handlers] });
  // Through a pooler there would be none.
  expect(await connectionNames(bench.database)).toContain('tarefa session');
  const admin = app.get(QueueAdmin);
  const id = await queue.insertTask({ topic: 'work', payload: { n: 1 }, tenant: 7n, metadata: { a: 1 } });
  const published = await queue.insertTaskPubSub({ topic: 'paid', payload: {} });
  const late = await queue.insertTask({ topic: 'work', delayMs: 3_600_000 });
  expect(await admin.waitFor(id, { timeoutMs: 20_000 })).toMatchObject({
    ...ended,
    id,
    returned: { ok: true },
  });
  expect(await admin.waitFor(published, { timeoutMs: 20_000 })).toMatchObject({ message: /1 delivery/ });
  expect(app.get(Handlers).seen).toEqual([{ number: expect.any(Own), moment: expect.any(Own) }]);

  const { current } = await admin.find(id);
  expect(current).toMatchObject({ ...ended, id });
  for (const moment of [current.dueAt, current.startedAt, current.finishedAt]) {
    expect(Math.abs(Number(moment) - Date.now())).toBeLessThan(60_000);
  }
  expect((await admin.list({ status: 'scheduled' })).tasks).toMatchObject([{ id: late, attempt: 1 }]);
  expect(await admin.counts()).toContainEqual(expect.objectContaining({ topic: 'work', count: 1 }));
  await admin.cancel(late);
  expect((await admin.find(late)).current.status).toBe('cancelled');
  expect(await admin.purge()).toBe(0);
});

test('what is read in a transaction of the caller is read as well', async () => {
  const { app, queue } = await bench.start({ worker: false });
  const tester = QueueTester.of(app);
  const task = { topic: 'work', payload: { n: 1 }, externalKey: 'k', tenant: 7n, metadata: { a: 1 } };
  const client = await bench.connect();
  await client.query('begin');
  const ids = [
    await queue.insertTask(task, { tx: client }),
    ...(await queue.insertTasks([{ ...task, runAt: new Date('2099-01-02T03:04:05.678Z') }], { tx: client })),
  ];
  const found = await queue.listEquivalentTask(task, { tx: client });
  expect(found).toMatchObject([
    { ...ended, id: ids[0], status: 'pending', payload: '{"n":1}', publication: false, finishedAt: null },
    { ...ended, id: ids[1], status: 'scheduled', dueAt: new Date('2099-01-02T03:04:05.678Z') },
  ]);
  expect(await tester.inserted({}, { tx: client })).toHaveLength(2);
  await client.query('commit');
  expect(await queue.listEquivalentTask(task)).toEqual(found);
});

test('the dashboard shows a task anyway', async () => {
  const { app } = await bench.start({ handlers: [Handlers] });
  const dashboard = await startDashboardApp(bench.database.url, {});
  try {
    const id = await dashboard.queue.insertTask({ topic: 'work' });
    await app.get(QueueAdmin).waitFor(id, { timeoutMs: 20_000 });
    expect(await ask(`${dashboard.url}/api/overview`)).toMatchObject({ status: 200, body: { problems: [] } });
    expect((await ask(`${dashboard.url}/api/tasks/${id}`)).body).toMatchObject({
      current: { id, attempt: 1, status: 'succeeded' },
    });
  } finally {
    await dashboard.close();
  }
});
