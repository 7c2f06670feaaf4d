import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { membersWithLargeNumbers } from '../../lib/values/json-numbers.js';
import { readLines, type Line } from '../../lib/cli/import/ndjson-lines.js';

async function read(bytes: Buffer, chunkSize = bytes.length, longest = 100): Promise<Line[]> {
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
  }
  const lines: Line[] = [];
  for await (const some of readLines(chunks(), longest)) lines.push(...some);
  return lines;
}

test('lines are found wherever the stream is cut, and keep their numbers', async () => {
  const text = `\ufeff{"a":"Zoë 👩‍🚀"}\r\n\n  \n${'x'.repeat(101)}\n"\u2028"\n\ufeff{}\n`;
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 10]), Buffer.from('last')]);
  const whole = await read(bytes);
  expect(whole).toEqual([
    { number: 1, text: '{"a":"Zoë 👩‍🚀"}\r' },
    { number: 4, text: '', problem: 'has more than 100 bytes' },
    { number: 5, text: '"\u2028"' },
    { number: 6, text: '\ufeff{}' },
    { number: 7, text: '', problem: expect.stringContaining('not UTF-8') as string },
    { number: 8, text: 'last' },
  ]);
  for (const size of [1, 2, 3, 7, 50]) expect(await read(bytes, size)).toEqual(whole);
});

test.each([
  ['', []],
  ['\n\n', []],
  ['\ufeff\n', []],
  ['a', [1]],
  ['a\n', [1]],
  ['\na\n\nb', [2, 4]],
])('%j has the lines %j', async (text, numbers) => {
  expect((await read(Buffer.from(text))).map(({ number }) => number)).toEqual(numbers);
});

test('a line of any length up to the limit is whole, and one that is longer is not kept', async () => {
  const line = 'é'.repeat(500_000);
  const bytes = Buffer.from(`${line}\n${line}x\n`);
  const lines = await read(bytes, 65_536, 1_000_000);
  expect(lines.map(({ text, problem }) => [text === line, problem])).toEqual([
    [true, undefined],
    [false, 'has more than 1000000 bytes'],
  ]);
});

test.each([
  ['{"payload":{"id":12345678901234567890}}', { payload: '{"id":12345678901234567890}' }],
  ['{ "payload" : [ 1e400 , "a b" ] , "topic" : "x" }', { payload: '[1e400,"a b"]' }],
  [
    '{"payload":-0.12345678901234567,"metadata":{"n":9007199254740993}}',
    {
      payload: '-0.12345678901234567',
      metadata: '{"n":9007199254740993}',
    },
  ],
  ['{"a":{"payload":12345678901234567890},"payload":{"n":1}}', { a: '{"payload":12345678901234567890}' }],
  ['{"payload":"12345678901234567890 \\" 1e400","n":1e5}', undefined],
  ['{"payload":{"at":1700000000000.5,"n":9007199254740991}}', undefined],
  ['{"payload":{"small":5e-400}}', { payload: '{"small":5e-400}' }],
])('in %s JavaScript would change %j', (json, members) => {
  const found = membersWithLargeNumbers(json);
  expect(found && Object.fromEntries(found)).toEqual(members);
});

test('whatever an object holds, its members are found as they are', () => {
  const large = { large: 0 };
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
      const json = JSON.stringify({ ...object, large }, undefined, indent).replace(
        /"large":\s*\{\s*"large":\s*0\s*\}(?=\s*\}$)/,
        '"large": { "large": 12345678901234567890 }',
      );
      const found = membersWithLargeNumbers(json);
      expect(found?.get('large')).toBe('{"large":12345678901234567890}');
    }),
  );
});
