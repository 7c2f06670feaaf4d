import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import { useApp } from '../support/queue-app.js';
import { testOnPostgres } from '../support/run-database.js';
import { countTasks } from '../support/statuses.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false, maxPayloadBytes: 20 });

test('insertTasks answers ids in the order of its input', async () => {
  const inputs = Array.from({ length: 2_500 }, (_, index) => ({
    topic: `t${index % 7}`,
    payload: `payload ${index}`,
    priority: index % 5,
    delayMs: (index * 7919) % 1000,
  }));
  const ids = await queue.insertTasks(inputs);
  const { rows } = await pool.query<{ id: string; payload: string }>('select id, payload from tasks');
  const payloads = new Map(rows.map(({ id, payload }) => [id, payload]));
  expect(ids.map((id) => payloads.get(id))).toEqual(inputs.map(({ payload }) => payload));
});

test('batches that are inserted at once keep their ids apart', async () => {
  const batches = await Promise.all(
    Array.from({ length: 8 }, (_, batch) =>
      queue.insertTasks(Array.from({ length: 50 }, (__, index) => ({ payload: `${batch} ${index}` }))),
    ),
  );
  const { rows } = await pool.query<{ id: string; payload: string }>(
    'select id, payload from tasks where processo is null',
  );
  const payloads = new Map(rows.map(({ id, payload }) => [id, payload]));
  expect(batches.map((ids) => ids.map((id) => payloads.get(id)))).toEqual(
    batches.map((ids, batch) => ids.map((_, index) => `${batch} ${index}`)),
  );
});

test('no tasks are no statement', async () => {
  const before = await countTasks(pool);
  const handle = { query: () => Promise.reject(new Error('a statement was sent')) };
  expect(await queue.insertTasks([], { tx: handle })).toEqual([]);
  expect(await countTasks(pool)).toBe(before);
});

test('one mistake keeps the whole batch out, and is said with its place', async () => {
  const before = await countTasks(pool);
  const wrong = (task: object) => queue.insertTasks([{ topic: 'a' }, { topic: 'b' }, task]);
  await expect(wrong({ topic: 5 })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringMatching(/^task 2 of the batch: topic must be text/),
  });
  await expect(wrong({ payload: 'x'.repeat(21) })).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  await expect(wrong({ payload: { toJSON: () => undefined } })).rejects.toMatchObject({
    code: 'PAYLOAD_NOT_SERIALISABLE',
  });
  expect(await countTasks(pool)).toBe(before);
});

testOnPostgres('a row that the database refuses keeps the whole batch out', async () => {
  const before = await countTasks(pool);
  await pool.query(`alter table tasks add constraint no_evil check (processo is distinct from 'evil')`);
  await expect(queue.insertTasks([{ topic: 'a' }, { topic: 'evil' }, { topic: 'b' }])).rejects.toMatchObject({
    code: '23514',
  });
  expect(await countTasks(pool)).toBe(before);
});

testOnPostgres('a batch rings once', async () => {
  const bell = await listen(database, 'tasks');
  await queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'a' })));
  expect(await bell.next()).toMatch(/^\d+\.\d{3} 50 "t:a"$/);
  await queue.insertTasks([{ topic: 'a' }, { topic: 'a', delayMs: 60_000 }]);
  expect(await bell.next()).toMatch(/^\d+\.\d{3} 50 "t:a" later$/);
  expect(await bell.heard()).toEqual([]);
  await bell.close();
});
