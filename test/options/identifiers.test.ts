import { expect, test } from 'vitest';
import { QueueClient, TaskHandler } from '../../lib/index.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();
const { pool } = database;

const connection = 'postgres://localhost/shop';
const never = { query: () => Promise.reject(new Error('a statement was sent')) };

test.each([
  `x"; drop table canary; --`,
  `x'; drop table canary; --`,
  'x"y',
  "x'y",
  'a b',
  'a-b',
  'a$b',
  'a;b',
  'a\\b',
  'a\0b',
  'a\nb',
  'ação',
  'tаsks',
  '1st',
  '',
  '.',
  'a.',
  '.a',
  'a.b.c',
  'x'.repeat(51),
  'x'.repeat(64),
  'é'.repeat(40),
  `${'x'.repeat(64)}.tasks`,
])('the table name %j is refused before anything is sent', (table) => {
  const named = expect.stringContaining(JSON.stringify(table));
  expect(() => resolveOptions({ connection, table, queue: 'bell' }, {})).toThrow(
    expect.objectContaining({ code: 'OPTIONS_INVALID', message: named }),
  );
  expect(() => new QueueClient(never, { table })).toThrow(
    expect.objectContaining({ code: 'OPTIONS_INVALID', message: named }),
  );
});

test.each(['x"y', "x'y", 'a b', 'a\\b', 'a\0b', 'a\nb', 'sino-ação', '', 'x'.repeat(64)])(
  'the channel name %j is refused',
  (queue) => {
    expect(() => resolveOptions({ connection, table: 'tasks', queue }, {})).toThrow(
      expect.objectContaining({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining(`queue ${JSON.stringify(queue)}`),
      }),
    );
  },
);

test('a table that takes its name from the queue says so when it cannot', () => {
  expect(() => resolveOptions({ connection, queue: 'order-events' }, {})).toThrow(
    /table \(taken from queue\) "order-events" may contain only letters/,
  );
});

class Handlers {
  @TaskHandler('greet')
  greet(): void {}
}

test.each([
  ['MixedCase', 't1'],
  ['order', 't2'],
  ['with.dots-and-dashes', 't3'],
  ['a;drop/table/canary;--', 't4'],
  ['$1$$', 't5'],
  ['%s{}()[]', 't6'],
  ['x'.repeat(63), 't7'],
])('on the channel %j a worker hears an insert by SQL', async (queue, table) => {
  await pool.query('create table if not exists canary ()');
  const { events, close } = await startApp(database, {
    queue,
    table,
    handlers: [Handlers],
    pollIntervalMs: 0,
  });
  const completed = nextEvent(events, 'task.completed');
  await pool.query(`insert into ${table} (processo) values ('greet')`);
  expect(await completed).toMatchObject({ task: { topic: 'greet' } });
  await close();
  expect((await pool.query(`select to_regclass('canary') as canary`)).rows).toEqual([{ canary: 'canary' }]);
});
