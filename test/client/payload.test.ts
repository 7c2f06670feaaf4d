import { createHash } from 'node:crypto';
import { assert, asyncProperty, constantFrom, oneof, string } from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskInput } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp, useApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { worker: false });

afterEach(() => pool.query('delete from tasks'));

/** Inserts alone and in a batch, and reads the texts and hashes that were stored. */
async function store(input: TaskInput): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const ids = [await queue.insertTask(input), ...(await queue.insertTasks([input]))];
  const { rows } = await pool.query<{ payload: string | null; payload_hash: Buffer | null }>(
    `select payload, payload_hash from tasks where id = any($1::bigint[]) order by id`,
    [ids],
  );
  return rows.map(({ payload, payload_hash }) => ({ payload, hash: payload_hash?.toString() ?? null }));
}

const hashOf = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
const twice = <T>(row: T): readonly T[] => [row, row];

test.each<readonly [name: string, payload: unknown, text: string]>([
  ['text', 'hello', 'hello'],
  ['text that looks like JSON', ' { "a" : 1 } ', ' { "a" : 1 } '],
  ['text with quotes, backslashes and line ends', `'"\\ \\u0041\r\n\t;--`, `'"\\ \\u0041\r\n\t;--`],
  ['accents and emoji', 'ação naïve 🍵 👩‍👩‍👧', 'ação naïve 🍵 👩‍👩‍👧'],
  ['composed and decomposed letters, which stay different', 'é e\u0301', 'é e\u0301'],
  ['half a surrogate pair, as UTF-8 writes it', 'a\ud83d b\udf75', 'a\ufffd b\ufffd'],
  ['an object', { b: 1, a: [true, null, 'ç 🍵'] }, '{"b":1,"a":[true,null,"ç 🍵"]}'],
  [
    'an object with characters that JSON escapes',
    { a: '\0\u0001\ud83d"\\' },
    '{"a":"\\u0000\\u0001\\ud83d\\"\\\\"}',
  ],
  ['an array', [1, 'two'], '[1,"two"]'],
  ['an empty object', {}, '{}'],
  ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ['an object with toJSON', { toJSON: () => ({ short: true }) }, '{"short":true}'],
  ['a number', 42.5, '42.5'],
  ['zero', 0, '0'],
  ['a bigint', 2n ** 64n, '18446744073709551616'],
  ['false', false, 'false'],
])('%s is stored as its text, with the hash of that text', async (_, payload, text) => {
  expect(await store({ payload })).toEqual(twice({ payload: text, hash: hashOf(text) }));
});

test.each([
  ['', ''],
  [null, null],
  [undefined, null],
])('the empty payload %j has no hash', async (payload, text) => {
  expect(await store({ payload })).toEqual(twice({ payload: text, hash: null }));
});

test('the hash is hexadecimal text in lower case, as nsj-queue-lib writes it', async () => {
  await queue.insertTask({ payload: 'abc' });
  const { rows } = await pool.query('select length(payload_hash)::int as bytes, payload_hash from tasks');
  expect(rows).toEqual([
    {
      bytes: 64,
      payload_hash: Buffer.from('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'),
    },
  ]);
});

test('whatever text is inserted, both ways in store the same, and its hash', async () => {
  const texts = string({
    unit: oneof(
      string({ unit: 'binary', maxLength: 1 }),
      constantFrom('\ud800', '\udfff', '\\', '"', "'", '\\u'),
    ),
  });
  await assert(
    asyncProperty(
      texts.filter((text) => text !== '' && !text.includes('\0')),
      async (payload) => {
        const [one, other] = await store({ payload });
        const text = Buffer.from(payload, 'utf8').toString('utf8');
        expect(one).toEqual({ payload: text, hash: hashOf(text) });
        expect(other).toEqual(one);
      },
    ),
    { numRuns: 60 },
  );
});

test('other texts that are not well-formed are stored as UTF-8 writes them, too', async () => {
  const half = 'x\ud83d';
  const input = { topic: half, externalKey: half, origin: half, destination: half, group: half };
  await store(input);
  const { rows } = await pool.query(
    'select processo, chave_externa, origem, destino, grupo_empresarial from tasks',
  );
  expect(rows.flatMap((row: object) => Object.values(row))).toEqual(
    Array.from({ length: 10 }, () => 'x\ufffd'),
  );
});

test('metadata is stored as it is, with texts that only look like escapes', async () => {
  const metadata = { path: 'C:\\u0000', name: '\\\\ud83d', emoji: '🍵', quote: `'"` };
  await store({ metadata });
  const { rows } = await pool.query('select metadados from tasks');
  expect(rows).toEqual(twice({ metadados: metadata }));
});

test('what is inserted arrives: objects as objects, texts as texts', async () => {
  const received: unknown[] = [];
  class Handlers {
    @TaskHandler()
    take(payload: unknown): void {
      received.push(payload);
    }
  }
  const worker = await startApp(database, { handlers: [Handlers], concurrency: 1 });
  const payloads = [{ a: ['ç', { b: null }] }, [1, 2], 'ação 🍵', '{ not JSON', '', null, '"quoted"', '42'];
  await worker.queue.insertTasks(payloads.map((payload) => ({ topic: 'any', payload })));
  await until(async () => received.length === payloads.length, 'all payloads');
  expect(received).toEqual(payloads);
  await worker.close();
});
