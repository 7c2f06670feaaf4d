import { expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler, type Task, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

/** Notes the contexts of all attempts, live and dead, of tasks that fail for good. */
async function startNoting(queue = 'tasks') {
  const contexts: TaskContext[] = [];
  class Noting {
    @TaskHandler({ maxAttempts: 2, retryDelayMs: 0 })
    live(_: unknown, ctx: TaskContext): void {
      contexts.push(ctx);
      throw new Error('boom');
    }
    @DeadTaskHandler()
    dead(_: unknown, ctx: TaskContext): void {
      contexts.push(ctx);
    }
  }
  const app = await bench.start({ handlers: [Noting], queue });
  const run = async (input: object): Promise<Task[]> => {
    const before = contexts.length;
    await app.queue.insertTask(input);
    await until(async () => contexts.length === before + 3, 'two live attempts and a dead one');
    return contexts.slice(before).map(({ task }) => task);
  };
  return { ...app, contexts, run };
}

test('ctx.task shows the attempt', async () => {
  const { run } = await startNoting();
  const input = {
    topic: 'topic',
    payload: 'p',
    externalKey: 'key',
    origin: 'from',
    destination: 'to',
    tenant: '9007199254740993',
    group: 'g1',
    priority: -3,
    runAt: '2024-01-01T00:00:00.123Z',
    metadata: { a: [1] },
  };
  const [first, second, dead] = (await run(input)) as [Task, Task, Task];
  const { payload: _, runAt, ...same } = input;
  const due = new Date(runAt);
  const none = { publicationId: null, subscriptionId: null };
  expect(first).toMatchObject({
    ...same,
    ...none,
    attempt: 1,
    dead: false,
    liveId: null,
    dueAt: due,
    firstDueAt: due,
  });
  expect(first.firstAttemptId).toBe(first.id);
  expect(second).toMatchObject({ ...same, ...none, attempt: 2, firstAttemptId: first.id, firstDueAt: due });
  expect(second.dueAt.getTime()).toBeGreaterThan(due.getTime());
  expect(dead).toMatchObject({ ...same, ...none, attempt: 1, dead: true, liveId: first.id });
  expect(dead.firstAttemptId).toBe(dead.id);
});

test('what was left out is null, in ctx.task and in its JSON', async () => {
  const { run } = await startNoting();
  const [task] = (await run({})) as [Task];
  const nothing = {
    topic: null,
    origin: null,
    destination: null,
    externalKey: null,
    tenant: null,
    group: null,
    publicationId: null,
    subscriptionId: null,
    liveId: null,
    metadata: null,
  };
  expect(task).toMatchObject({ ...nothing, priority: 50 });
  const written = JSON.parse(JSON.stringify({ task })) as { task: object };
  expect(written.task).toEqual({
    ...nothing,
    id: task.id,
    firstAttemptId: task.id,
    key: task.key,
    attempt: 1,
    priority: 50,
    dueAt: task.dueAt.toISOString(),
    firstDueAt: task.firstDueAt.toISOString(),
    dead: false,
  });
});

test('the key is the same over all attempts and the dead chain, and different for every other task', async () => {
  const { run } = await startNoting();
  const input = { topic: 'same', payload: 'same', externalKey: 'same', runAt: '2024-01-01T00:00:00Z' };
  const keys = new Set<string>();
  for (let n = 0; n < 3; n += 1) {
    const chain = (await run(input)).map(({ key }) => key);
    expect(new Set(chain).size).toBe(1);
    expect(chain[0]).toMatch(/^[0-9a-f]{32}$/);
    keys.add(chain[0] ?? '');
  }
  expect(keys.size).toBe(3);
});

test('a task with the same id and time in another table has another key', async () => {
  const first = await startNoting();
  const second = await startNoting('other');
  for (const table of ['tasks', 'other']) {
    await bench.pool.query(`alter sequence ${table}_id_seq restart with 501`);
  }
  const input = { runAt: '2024-01-01T00:00:00Z' };
  const [one] = (await first.run(input)) as [Task];
  const [two] = (await second.run(input)) as [Task];
  expect([one.id, two.id]).toEqual(['501', '501']);
  expect(one.key).not.toBe(two.key);
});

test('a task whose id is issued again is another task', async () => {
  const { run } = await startNoting();
  const [first] = (await run({})) as [Task];
  await bench.pool.query('delete from tasks');
  await bench.pool.query(`alter sequence tasks_id_seq restart with ${first.id}`);
  const [second] = (await run({})) as [Task];
  expect(second.id).toBe(first.id);
  expect(second.key).not.toBe(first.key);
});

testOnPostgres('ids beyond 2^53 survive', async () => {
  const { run } = await startNoting();
  await bench.pool.query(`select setval('tasks_id_seq', 9007199254740993)`);
  const [first, second, dead] = (await run({ topic: 'big' })) as [Task, Task, Task];
  expect([first.id, second.firstAttemptId, dead.liveId]).toEqual(Array(3).fill('9007199254740994'));
  await bench.pool.query(`select setval('tasks_id_seq', 1)`);
});

test('ctx.signal is made when it is asked for, and is always the same', async () => {
  const { run, contexts } = await startNoting();
  const made: AbortController[] = [];
  const RealController = globalThis.AbortController;
  globalThis.AbortController = class extends RealController {
    constructor() {
      super();
      made.push(this);
    }
  };
  try {
    await run({});
    expect(made).toEqual([]);
    const [ctx] = contexts;
    const signal = ctx?.signal;
    expect(signal?.aborted).toBe(false);
    expect(ctx?.signal).toBe(signal);
    expect(made).toHaveLength(1);
  } finally {
    globalThis.AbortController = RealController;
  }
});
