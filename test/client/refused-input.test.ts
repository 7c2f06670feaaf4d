import { expect, test, vi } from 'vitest';
import { encodeTask } from '../../lib/client/task-input.js';
import { QueueClient, type TaskInput } from '../../lib/index.js';
import { handleOf, useDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import { useApp } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';
import { testOnPostgres } from '../support/run-database.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false, maxPayloadBytes: 100 });

/** Inserts in each way, as a program without types may; returns why each was refused. */
async function refusals(
  input: unknown,
): Promise<readonly { readonly code: string; readonly message: string }[]> {
  const task = input as TaskInput & { readonly topic: string };
  const attempts = [
    queue.insertTask(task),
    queue.insertTasks([task]),
    queue.insertTaskPubSub(task),
    queue.insertTaskWebhook(task),
  ];
  const outcomes = await Promise.allSettled(attempts);
  expect((await pool.query('select from tasks')).rowCount).toBe(0);
  return outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : { code: 'inserted' }));
}

const refused = (code: string, message: RegExp) =>
  Array.from({ length: 4 }, () => expect.objectContaining({ code, message: expect.stringMatching(message) }));

const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<readonly [problem: string, fields: object, message: RegExp]>([
  ['an unknown field', { topics: 'x' }, /no field 'topics': did you mean 'topic'\? Nothing was done$/],
  ['a column name', { processo: 'x' }, /no field 'processo'/],
  ['BullMQ’s word for the topic', { name: 'x' }, /no field 'name': did you mean 'topic'\?/],
  ['BullMQ’s word for the payload', { data: {} }, /no field 'data': did you mean 'payload'\?/],
  ['BullMQ’s word for a unique key', { jobId: 'x' }, /no field 'jobId': did you mean 'unique'\?/],
  [
    'another word for a unique key',
    { idempotencyKey: 'x' },
    /no field 'idempotencyKey': did you mean 'unique'\?/,
  ],
  [
    'BullMQ’s word for the age of history',
    { removeOnComplete: true },
    /no field 'removeOnComplete': purgeMaxAgeDays of the queue sets/,
  ],
  [
    'several words of BullMQ at once',
    { name: 'x', data: {}, backoff: 5 },
    /no field 'name': did you mean 'topic'\? a task has no field 'data': did you mean 'payload'\? a task has no field 'backoff': set it on the handler/,
  ],
  [
    'more unknown fields than one reads',
    Object.fromEntries(Array.from({ length: 13 }, (_, n) => [`colour${n}`, n])),
    /no field 'colour9'; and 3 more; nothing was done$/,
  ],
  ['a unique key as a number', { unique: 5 }, /unique must be text, or an object with a key \(got 5\)/],
  ['BullMQ’s word for the delay', { delay: 5 }, /no field 'delay': did you mean 'delayMs'\?/],
  [
    'BullMQ’s word for a rule of the handler',
    { backoff: 5 },
    /no field 'backoff': set it on the handler, as in @TaskHandler\('topic', \{ retryDelayMs \}\); nothing was done$/,
  ],
  ['BullMQ’s word for attempts', { attempts: 5 }, /no field 'attempts': did you mean 'maxAttempts'\?/],
  ['BullMQ’s word for the time limit', { timeout: 5 }, /no field 'timeout': did you mean 'timeoutMs'\?/],
  ['no attempts', { maxAttempts: 0 }, /maxAttempts must be a whole number from 1 to 1000000 \(got 0\)/],
  ['half a millisecond', { timeoutMs: 0.5 }, /timeoutMs must be a whole number from 1 to 2147483647/],
  ['attempts as text', { maxAttempts: '3' }, /maxAttempts must be a whole number from 1/],
  [
    'BullMQ’s word for recurring',
    { repeat: {} },
    /no field 'repeat': use @Recurring or QueueAdmin\.schedules/,
  ],
  ['a topic that is no text', { topic: 5 }, /topic must be text \(got 5\); nothing was inserted/],
  ['a topic that is too long', { topic: 'x'.repeat(251) }, /topic has more than 250 characters/],
  ['an origin that is too long', { origin: 'x'.repeat(151) }, /origin has more than 150 characters/],
  ['a destination that is too long', { destination: 'é'.repeat(151) }, /destination has more than 150/],
  ['an external key that is too long', { externalKey: '🍵'.repeat(101) }, /externalKey has more than 100/],
  ['a group that is too long', { group: 'x'.repeat(41) }, /group has more than 40/],
  ['a group that is no text', { group: {} }, /group must be text/],
  ['NUL in a text', { externalKey: 'a\0b' }, /externalKey must not contain a NUL/],
  ['NUL in the payload', { payload: 'a\0b' }, /payload cannot be stored as PostgreSQL text/],
  ['a fractional tenant', { tenant: 1.5 }, /tenant must be a whole number/],
  ['a tenant that is no number', { tenant: 'shop' }, /tenant must be a whole number/],
  ['an empty tenant', { tenant: '' }, /tenant must be a whole number/],
  [
    'a tenant of more than 63 bits',
    { tenant: 2n ** 63n },
    /tenant must be a whole number of at most 63 bits/,
  ],
  ['a tenant that lost its last digits', { tenant: 2 ** 53 }, /beyond 2\^53 give it as text/],
  ['a fractional priority', { priority: 0.5 }, /priority must be a whole number of 32 bits/],
  ['a priority of more than 32 bits', { priority: 2 ** 31 }, /priority must be a whole number/],
  ['a priority as text', { priority: '5' }, /priority must be a whole number/],
  ['an invalid date', { runAt: new Date(Number.NaN) }, /runAt must be a Date or ISO 8601 text/],
  ['a date beyond the year 9999', { runAt: new Date(8.64e15) }, /runAt must be/],
  ['text that is no time', { runAt: 'tomorrow' }, /runAt must be/],
  ['a time without zone', { runAt: '2126-01-01T10:00:00' }, /with a time zone/],
  ['a day without time', { runAt: '2126-01-01' }, /runAt must be/],
  ['a date as JavaScript shows it', { runAt: String(new Date()) }, /runAt must be/],
  ['a month that does not exist', { runAt: '2126-13-01T10:00:00Z' }, /runAt must be/],
  ['a time as number', { runAt: 1_782_900_000 }, /runAt must be/],
  [
    'runAt and delayMs together',
    { runAt: new Date(), delayMs: 5 },
    /delayMs must not be given together with runAt/,
  ],
  ['a negative delay', { delayMs: -1 }, /delayMs must be a number of milliseconds from 0/],
  ['a delay without end', { delayMs: Infinity }, /delayMs must be/],
  ['a delay that is no number', { delayMs: '500' }, /delayMs must be/],
  ['metadata that is no object', { metadata: 'x' }, /metadata must be an object/],
  ['metadata that is a list', { metadata: [] }, /metadata must be an object/],
  ['NUL in the metadata', { metadata: { a: ['\\\0'] } }, /metadata cannot be stored/],
  ['half a surrogate pair in the metadata', { metadata: { '\ud83d': 1 } }, /metadata cannot be stored/],
])('%s is refused with the name of the field, and nothing is inserted', async (_, fields, message) => {
  expect(await refusals({ topic: 'x', ...fields })).toEqual(refused('INPUT_INVALID', message));
});

test.each([undefined, null, 'task', 5])('the task %s is no object', async (task) => {
  expect(await refusals(task)).toEqual(refused('INPUT_INVALID', /a task must be an object/));
});

test('a topic in the place of the task is told where it belongs', async () => {
  expect(await refusals('send-mail')).toEqual(
    refused('INPUT_INVALID', /a task must be an object such as \{ topic, payload \} \(got "send-mail"\)/),
  );
});

test('metadata with a number that would be rounded is refused', () => {
  // As `JSON.rawJSON` of Node 22 has it written.
  const writing = vi.spyOn(JSON, 'stringify').mockReturnValueOnce('{"id":1970670598291982290}');
  try {
    const encode = (): unknown => encodeTask({ metadata: {} }, false, 100);
    expect(encode).toThrow(/metadata contains a number that is too long for JSON in JavaScript/);
  } finally {
    writing.mockRestore();
  }
});

test.each<readonly [name: string, payload: unknown, message: RegExp]>([
  ['a cycle', cycle, /cannot be written as JSON: .*circular/],
  ['a bigint inside', { id: 5n }, /cannot be written as JSON: .*BigInt/],
  ['a function', () => 5, /is a function, which cannot be written as text/],
  ['a symbol', Symbol('x'), /is a symbol, which cannot be written as text/],
  [
    'a toJSON that throws',
    {
      toJSON: () => {
        throw new Error('no JSON today');
      },
    },
    /cannot be written as JSON: Error: no JSON today/,
  ],
  ['a toJSON of nothing', { toJSON: () => undefined }, /has a toJSON\(\) that returns nothing/],
  ['a Map', new Map([['id', 5]]), /contains a value of type Map, which JSON would write as \{\}/],
  ['a Set inside', { ids: new Set([5]) }, /contains a value of type Set, which/],
])('a payload with %s cannot be serialised, and nothing is inserted', async (_, payload, message) => {
  expect(await refusals({ topic: 'x', payload })).toEqual(refused('PAYLOAD_NOT_SERIALISABLE', message));
});

testOnPostgres.each<readonly [string, unknown, unknown]>([
  ['text', 'x'.repeat(100), 'x'.repeat(101)],
  ['text, counted in bytes', 'é'.repeat(50), `${'é'.repeat(50)}x`],
  ['an object, counted as it is stored', { a: 'x'.repeat(92) }, { a: 'x'.repeat(93) }],
])('%s of maxPayloadBytes is inserted, of one more is refused', async (_, most, more) => {
  const bell = await listen(database, 'tasks');
  expect(await refusals({ topic: 'x', payload: more })).toEqual(
    refused(
      'PAYLOAD_TOO_LARGE',
      /the payload has 101 bytes, more than maxPayloadBytes \(100\); nothing was inserted/,
    ),
  );
  expect(await bell.heard()).toEqual([]);
  await queue.insertTask({ payload: most });
  await queue.insertTasks([{ payload: most }]);
  await queue.insertTaskPubSub({ topic: 'x', payload: most });
  const { rows } = await pool.query('delete from tasks returning octet_length(payload) as bytes');
  expect(rows).toEqual([{ bytes: 100 }, { bytes: 100 }, { bytes: 100 }]);
  await bell.close();
});

testOnPostgres('the limit is 1 MiB by default', async () => {
  const client = new QueueClient(pool, { table: 'tasks' });
  await expect(client.insertTask({ payload: 'x'.repeat(1_048_577) })).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  });
  await client.insertTask({ payload: 'x'.repeat(1_048_576) });
  expect((await pool.query('delete from tasks')).rowCount).toBe(1);
});

test('a publication needs a topic', async () => {
  for (const topic of [undefined, null, '']) {
    const input = { topic } as unknown as { readonly topic: string };
    for (const insert of [queue.insertTaskPubSub(input), queue.insertTaskWebhook(input)]) {
      await expect(insert).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining(
          'topic must be given: a publication reaches the subscriptions of its topic',
        ),
      });
    }
  }
});

test('what is refused leaves the transaction of the caller as it was', async () => {
  await withClient(database, async (client) => {
    await client.query('begin');
    await expect(
      queue.insertTask({ topic: 'x'.repeat(251) }, { tx: handleOf(client) }),
    ).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
    await queue.insertTask({ topic: 'x' }, { tx: handleOf(client) });
    await client.query('commit');
  });
  expect((await pool.query('delete from tasks')).rowCount).toBe(1);
});
