import { types } from 'pg';
import { expect, test } from 'vitest';
import { readDate } from '../../../lib/storage/columns.js';
import { ownTypes } from '../../../lib/storage/postgres/connections/own-pool.js';

const parserOf = types.getTypeParser as (type: number) => (text: string) => unknown;
const ownParserOf = ownTypes.getTypeParser as typeof parserOf;

const times = [
  '2026-11-26 16:16:29.123456+00',
  '2026-11-26 16:16:29-03',
  '2026-11-26 16:16:29.9+05:30',
  '1900-01-01 00:00:00+00:19:32',
  '0001-01-01 00:00:00-03:06:28',
  '12026-01-01 00:00:00+00',
];

test.each([
  [16, ['t', 'f']],
  [20, ['9007199254740993', '-1']],
  [21, ['7', '-7']],
  [23, ['0', '-2147483648']],
  [25, ['', 't', 'null']],
  [26, ['4294967295']],
  [700, ['1.5', 'NaN', '-Infinity']],
  [701, ['1e-07', '0']],
  [114, ['null', '{"a": [1, "x"]}']],
  [3802, ['"text"', '[]']],
  [1009, ['{}', '{a,NULL,"","NULL","a,b","\\"{\\\\}","ç\n🍵"}']],
  [1184, times],
  [1700, ['1.50']],
  [2950, ['7d444840-9dc0-11d1-b245-5ffdce74fad2']],
])('an answer of type %i is read as pg reads it by itself', (type, texts) => {
  for (const text of texts) {
    expect(ownParserOf(type)(text)).toEqual(parserOf(type)(text));
  }
});

test.each(times)('%s is the time that it says, whoever reads it', (text) => {
  expect(readDate(text)).toEqual(parserOf(1184)(text));
});
