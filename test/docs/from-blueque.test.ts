import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { runInThisContext } from 'node:vm';
import { Injectable } from '@nestjs/common';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { createQueue, startApp, useApp } from '../support/queue-app.js';
import { deferred, nextEvent } from '../support/waiting.js';
import { documentAt, pathOf, sqlUnder } from './documents.js';

const page = 'docs/guides/from-blueque.md';
const started = deferred();
const hold = deferred();

@Injectable()
class Handlers {
  @TaskHandler('encode', { concurrency: 1, maxAttempts: 1 })
  async encode({ file }: { readonly file: string }): Promise<object> {
    if (file === 'long.mov') {
      started.resolve();
      await hold.promise;
    }
    return { encoded: file };
  }
}

const database = await useDatabase();
const { app, queue, events } = await useApp(database, { queue: 'shop_queue', handlers: [Handlers] });
const own = `${hostname()}_${process.pid}`;

test('topics are listed with their listeners, tasks by status, and what runs by its process', async () => {
  const id = await queue.insertTask({ topic: 'encode', payload: { file: 'long.mov' } });
  await started.promise;
  const waiting = await queue.insertTask({ topic: 'encode', payload: { file: 'short.mov' } });
  await queue.insertTask({ topic: 'nobody-listens', payload: {} });

  const queues = await run('Queues and listeners');
  expect(queues).toHaveLength(2);
  expect(queues).toContainEqual(['encode', 1, [own]]);
  expect(queues).toContainEqual(['nobody-listens', 0, []]);
  const tasks = await run('Tasks by status');
  expect(tasks).toContainEqual(['encode', 'processing', 1]);
  expect(tasks).toContainEqual(['encode', 'pending', 1]);
  expect(tasks).toContainEqual(['nobody-listens', 'pending', 1]);
  expect(tasks.at(-1)).toEqual([waiting, '{"file":"short.mov"}', expect.any(Date)]);
  expect(await run('Running executions')).toEqual([[own, id, 'encode', expect.any(Date)]]);

  const ended = nextEvent(events, 'task.completed', ({ task }) => task.id === waiting);
  hold.resolve();
  await ended;
});

test('the record of a task has what blueque’s has', async () => {
  for (const text of sqlUnder(page, 'One task').slice(1)) await database.pool.query(text);
  const id = await insertAndWait('a.mov');
  const [text = ''] = sqlUnder(page, 'One task');
  const record = async (): Promise<Record<string, unknown> | undefined> => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      text.replace('t.task_id = 17', `t.task_id = ${id}`),
    );
    return rows[0];
  };
  const ended = await record();
  expect(ended).toEqual({
    queue: 'encode',
    parameters: '{"file":"a.mov"}',
    status: 'succeeded',
    result: '{"encoded":"a.mov"}',
    error: null,
    node: hostname(),
    pid: process.pid,
    created: expect.any(Date),
    eta: expect.any(Date),
    updated: expect.any(Date),
  });
  expect(Number(ended?.['updated'])).toBeGreaterThanOrEqual(Number(ended?.['created']));
  const { rows } = await database.pool.query(
    `select from shop_queue where id = ${id} and inserted_at is null`,
  );
  expect(rows).toEqual([]);
});

test('a task is deleted when it has ended, and by its own queue', async () => {
  const admin = app.get(QueueAdmin, { strict: false });
  const id = await insertAndWait('b.mov');
  const waiting = await queue.insertTask({ topic: 'encode', payload: { file: 'c.mov' }, delayMs: 3_600_000 });
  await expect(run('Deleting', waiting)).rejects.toThrow(`task ${waiting} is scheduled`);
  await createQueue(database, { queue: 'other_queue' });
  const other = await startApp(database, { queue: 'other_queue', worker: false });
  try {
    await expect(other.app.get(QueueAdmin, { strict: false }).delete(id)).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
  } finally {
    await other.close();
  }
  await run('Deleting', id);
  await expect(admin.find(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
  expect((await admin.find(waiting)).current.status).toBe('scheduled');
});

test('every line of what holds it names a test that there is', async () => {
  const { text } = documentAt(page);
  const named = [...text.matchAll(/^\|.*\| `([^`]+\/[^`]+)`: (.*?) *\|$/gm)];
  expect(named).toHaveLength(15);
  const missing: string[] = [];
  for (const [, file = '', title = ''] of named) {
    const source = await readFile(pathOf(`test/${file}.test.ts`), 'utf8');
    if (!source.includes(`'${title}'`)) missing.push(title);
  }
  expect(missing).toEqual([]);
});

async function insertAndWait(file: string): Promise<string> {
  const ended = nextEvent(events, 'task.completed', ({ task }) => task.topic === 'encode');
  const id = await queue.insertTask({ topic: 'encode', payload: { file } });
  expect((await ended).task.id).toBe(id);
  return id;
}

/** Runs the TypeScript under a heading of the page, in which 17 stands for an id; returns what it prints. */
async function run(heading: string, id = '17'): Promise<readonly (readonly unknown[])[]> {
  const block = documentAt(page).blocks.find((one) => one.heading === heading && one.language === 'ts');
  const text = (block?.text ?? '').replace(/^import .*$/m, '').replace(`'17'`, `'${id}'`);
  const { outputText } = ts.transpileModule(text, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
  const printed: unknown[][] = [];
  const console = { log: (...values: unknown[]) => void printed.push(values) };
  const main = runInThisContext(`async (app, QueueAdmin, console) => {${outputText}}`) as (
    ...given: readonly unknown[]
  ) => Promise<void>;
  const given = { get: () => app.get(QueueAdmin, { strict: false }) };
  await main(given, QueueAdmin, console);
  return printed;
}
