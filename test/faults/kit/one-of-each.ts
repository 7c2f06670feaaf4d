import { expect } from 'vitest';
import {
  DeadTaskHandler,
  QueueAdmin,
  Subscriber,
  TaskHandler,
  type TaskContext,
  type TaskInput,
  type TaskRecord,
} from '../../../lib/index.js';
import type { QueueApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';

/** What a server may read as something else, when it is set to. */
const payload = {
  text: String.raw`C:\new\table 'it''s' "so" \' é ${'\n'} %s ? $1 :name`,
  number: -1_234_567.891_234_5,
  date: '03/02/2001',
};
const externalKey = String.raw`\'"%_`;
const failure = String.raw`it failed: 'C:\new' "now" \' ã`;

/** Times that are further apart were read in another zone: a test ends sooner. */
const zoneMs = 15 * 60_000;

/** Handlers of {@link runOneOfEach}. */
export class OneOfEach {
  @TaskHandler('echo')
  echo(given: unknown): unknown {
    return given;
  }

  @TaskHandler('write')
  async write(given: unknown, ctx: TaskContext): Promise<unknown> {
    await ctx.db.query('select 1 as one');
    return given;
  }

  @TaskHandler('again', { maxAttempts: 2, retryDelayMs: 50 })
  again(given: unknown, { task }: TaskContext): unknown {
    if (task.attempt === 1) throw new Error(failure);
    return given;
  }

  @TaskHandler('bad', { maxAttempts: 1 })
  bad(): void {
    throw new Error(failure);
  }

  @DeadTaskHandler('bad')
  dead(given: unknown): unknown {
    return given;
  }

  @Subscriber('heard', { topic: 'told' })
  heard(given: unknown): unknown {
    return given;
  }
}

/** One task of each way that a task can go, and what people ask: all is as it was given, and none starts before it is due. */
export async function runOneOfEach({ queue, app }: Pick<QueueApp, 'queue' | 'app'>): Promise<void> {
  const admin = app.get(QueueAdmin);
  const began = Date.now();
  const insert = (topic: string, more: TaskInput = {}): Promise<string> =>
    queue.insertTask({ topic, payload, externalKey, metadata: { payload }, ...more });
  const runAt = new Date(began + 1_000);
  const unique = { key: `${externalKey} of ${began}`, window: '1970-01-01' };
  const [delayed, due, again, ...others] = await Promise.all([
    insert('echo', { delayMs: 1_000 }),
    insert('echo', { runAt }),
    insert('again'),
    insert('echo', { unique }),
    insert('write'),
    queue.insertTaskPubSub({ topic: 'told', payload }),
  ]);
  const bad = await insert('bad');
  await expect(insert('echo', { unique })).rejects.toMatchObject({ code: 'TASK_DUPLICATE' });

  const attemptsOf = async (id: string): Promise<readonly TaskRecord[]> => {
    const { startedAt, finishedAt } = await admin.waitFor(id);
    for (const at of [startedAt, finishedAt]) expect(Math.abs(Number(at) - began)).toBeLessThan(zoneMs);
    const { attempts } = await admin.find(id, { payload: true });
    for (const one of attempts) expect(JSON.parse(one.payload ?? '')).toEqual(payload);
    return attempts;
  };
  for (const id of others) expect(await attemptsOf(id)).toMatchObject([{ status: 'succeeded' }]);
  for (const id of [delayed, due]) {
    const [only] = await attemptsOf(id);
    expect(only).toMatchObject({ status: 'succeeded', externalKey, metadata: { payload } });
    expect(Number(only?.startedAt)).toBeGreaterThanOrEqual(Number(only?.dueAt));
    expect(Math.abs(Number(only?.dueAt) - runAt.getTime())).toBeLessThan(zoneMs);
  }
  expect((await admin.find(due)).current.dueAt).toEqual(runAt);
  expect(await attemptsOf(again)).toMatchObject([
    { status: 'failed', message: expect.stringContaining(failure) },
    { status: 'succeeded', result: JSON.stringify(payload) },
  ]);
  expect(await attemptsOf(bad)).toMatchObject([{ status: 'failed', exhausted: true }]);
  const { deadIds } = await admin.find(bad);
  expect(await attemptsOf(deadIds[0] ?? '')).toMatchObject([{ status: 'succeeded', dead: true }]);
  const ofKey = await admin.list({
    externalKey,
    since: new Date(began - 60_000),
    message: String.raw`'C:\new'`,
  });
  expect(ofKey.tasks.map(({ id }) => id)).toContain(bad);
  await until(
    async () => (await admin.list({ status: ['pending', 'processing'] })).tasks.length === 0,
    'all has ended',
  );
  expect((await admin.status()).unknown).toEqual([]);
  expect(await admin.check()).toEqual([]);
}
