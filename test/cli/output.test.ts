import { expect, test } from 'vitest';
import { nearest } from '../../lib/cli/nearest.js';
import { Output } from '../../lib/cli/output/output.js';
import { ProgressBar } from '../../lib/cli/output/progress-bar.js';
import { readableBytes, readableDuration } from '../../lib/cli/output/readable.js';
import { withoutPasswords } from '../../lib/cli/secrets.js';
import { textTable } from '../../lib/cli/output/text-table.js';

test('a table aligns numbers to the right, and cuts its last column to the width', () => {
  const rows = [
    ['a', 1, null, 'short'],
    ['much longer', 12_345, new Date(0), 'x'.repeat(50)],
    ['ü€😀', null, undefined, 'one\ntwo\u001b[2J'],
  ];
  expect(textTable(['name', 'n', 'when', 'text'], rows, 66)).toEqual([
    'name             n  when                      text',
    'a                1                            short',
    'much longer  12345  1970-01-01T00:00:00.000Z  xxxxxxxxxxxxxxxxxxx…',
    'ü€😀                                           one\\ntwo\\x1b[2J',
  ]);
  expect(
    textTable(
      ['of', 'rows'],
      [
        ['x', '10,000+'],
        ['y', '5'],
      ],
    ),
  ).toEqual(['of     rows', 'x   10,000+', 'y         5']);
});

test.each([
  ['postgres://me:hunter2@host/db', 'postgres://me:***@host/db'],
  ['at postgresql://me:hun@ter:2@host:5432/db and more', 'at postgresql://me:***@host:5432/db and more'],
  ['postgres://host/db?user=me&password=hunter2&x=1', 'postgres://host/db?user=me&password=***&x=1'],
  ['host=a password=hunter2', 'host=a password=***'],
  ['https://host:8080/path is no secret', 'https://host:8080/path is no secret'],
])('%j without its password is %j', (text, expected) => {
  expect(withoutPasswords(text)).toBe(expected);
});

test.each([
  ['satus', 'status'],
  ['taks', 'task'],
  ['subs', 'subscriptions'],
  ['RETRY', 'retry'],
  ['frobnicate', undefined],
  ['', undefined],
])('of the commands %j may have meant %j', (name, expected) => {
  expect(nearest(name, ['status', 'task', 'tasks', 'subscriptions', 'retry'])).toBe(expected);
});

test('with --json only JSON is on standard output, and nothing steers the terminal', () => {
  const [out, err]: string[][] = [[], []];
  const output = new Output({ write: (text) => out?.push(text) }, { write: (text) => err?.push(text) }, true);
  output.line('text');
  output.text('text');
  output.table(['a'], [[1]]);
  output.note('note');
  output.clear();
  output.progress('work', 1).end();
  expect([out, err]).toEqual([[], []]);
  output.error('postgres://me:hunter2@host said \u001b[2J');
  output.jsonLine({ id: 2n ** 60n, at: new Date(0), text: '\u001b\u009b\u202e', none: undefined });
  expect(err).toEqual(['postgres://me:***@host said \\x1b[2J\n']);
  expect(out).toEqual([
    '{"id":"1152921504606846976","at":"1970-01-01T00:00:00.000Z","text":"\\u001b\\u009b\\u202e"}\n',
  ]);
  expect(JSON.parse(out?.[0] ?? '')).toMatchObject({ text: '\u001b\u009b\u202e' });
});

test('a bar fills up, and says how much of how much; without a total, how much', () => {
  const written: string[] = [];
  const screen = { columns: 60, write: (text: string) => written.push(text) };
  const bar = new ProgressBar(screen, 'work', 2_000);
  bar.advance(1_000);
  bar.advance(1_000);
  bar.end();
  bar.end();
  expect(written[0]).toBe('\rwork [........................] 0 of 2,000\u001b[K');
  expect(written.at(-2)).toMatch(/^\rwork \[#{24}\] 2,000 of 2,000/);
  expect(written.filter((text) => text === '\n')).toHaveLength(1);
  expect(written.every((text) => text.length < 60 + 5)).toBe(true);
  const open = new ProgressBar(screen, 'work');
  open.advance(5);
  open.end();
  expect(written.at(-2)).toMatch(/^\rwork {2}5 /);
});

test('durations and sizes are said as people say them', () => {
  const durations = [0, 999, 59_940, 60_000, 3_599_000, 3_600_000, 90_000_000, -5_000, Number.NaN];
  expect(durations.map(readableDuration)).toEqual([
    '0 ms',
    '999 ms',
    '59.9 s',
    '1 min 0 s',
    '59 min 59 s',
    '1 h 0 min',
    '1 d 1 h',
    '-5.0 s',
    '',
  ]);
  expect([0, 999, 1_000, 12_345_678, 5e15].map(readableBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '12.3 MB',
    '5000.0 TB',
  ]);
});
