import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { nearest } from '../../lib/values/nearest.js';
import { outputLogger } from '../../lib/cli/output/output-logger.js';
import { Output, withoutPasswords } from '../../lib/cli/output/output.js';
import { ProgressBar } from '../../lib/cli/output/progress-bar.js';
import { readableBytes, readableDuration, readableTime } from '../../lib/cli/output/readable.js';
import { textTable } from '../../lib/cli/output/text-table.js';
import { runCli } from './support.js';

test('a table aligns numbers to the right, and cuts its last column to the width', () => {
  const rows = [
    ['a', 1, null, 'short'],
    ['much longer', 12_345, new Date(0), 'x'.repeat(50)],
    ['ü€😀', null, undefined, 'one\ntwo\u001b[2J'],
  ];
  expect(textTable(['name', 'n', 'when', 'text'], rows, { width: 66 })).toEqual([
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

test.each([false, true])(
  'of an error that Nest logs no more than its message and stack is shown (--json: %s)',
  (json) => {
    const lines: string[] = [];
    const stream = { write: (text: string) => lines.push(text) };
    const error = Object.assign(new Error('no answer'), { config: { headers: { Authorization: 's3cret' } } });
    outputLogger(new Output(stream, stream, json)).error(error, 'ExceptionsHandler');
    expect(lines.join('')).toContain('no answer');
    expect(lines.join('')).not.toMatch(/s3cret|config/);
  },
);

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
  const durations = [
    0,
    999,
    59_940,
    60_000,
    3_599_000,
    3_600_000,
    90_000_000,
    -5_000,
    8.64e15,
    -8.64e15,
    Number.NaN,
  ];
  expect(durations.map(readableDuration)).toEqual([
    '0 ms',
    '999 ms',
    '59.9 s',
    '1 min 0 s',
    '59 min 59 s',
    '1 h 0 min',
    '1 d 1 h',
    '-5.0 s',
    'infinity',
    '-infinity',
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

test('a bar fits into every width, and into one that nobody knows', () => {
  for (const columns of [0, undefined, 12, 30, 200]) {
    const written: string[] = [];
    const bar = new ProgressBar({ columns, write: (text) => written.push(text) }, 'retrying', 1_200_000);
    bar.advance(600_000);
    bar.end();
    const texts = written.slice(0, -1).map((text) => text.slice(1, -3));
    expect(texts.every(({ length }) => length < (columns || 40))).toBe(true);
    // Whole, whatever is left out.
    expect(texts.at(-1)).toMatch(/(600,000 of 1,200,000( +[\d,]+\/s)?|50%)$/);
  }
});

test('statuses have colours on a terminal only, unless the environment decides; columns stay aligned', () => {
  const shown = (isTTY: boolean, env: Record<string, string>): string => {
    let text = '';
    const out = { isTTY, columns: 80, write: (some: string) => (text += some) };
    new Output(out, out, false, { env }).table(
      ['status', 'n'],
      [
        [{ status: 'failed' }, 1],
        [{ status: 'odd' }, 2],
      ],
    );
    return text;
  };
  const plain = 'status  n\nfailed  1\nodd     2\n';
  const coloured = 'status  n\n\u001b[31mfailed\u001b[39m  1\nodd     2\n';
  expect(shown(true, {})).toBe(coloured);
  expect(shown(false, { FORCE_COLOR: '1' })).toBe(coloured);
  for (const env of [{ NO_COLOR: '1' }, { FORCE_COLOR: '0' }, { TERM: 'dumb' }])
    expect(shown(true, env)).toBe(plain);
  expect(shown(false, {})).toBe(plain);
});

test('times have the offset of this computer, and with --utc none', () => {
  const before = process.env['TZ'];
  process.env['TZ'] = 'America/St_Johns';
  try {
    const time = new Date('2026-01-31T01:02:03.004Z');
    expect(readableTime(time, false)).toBe('2026-01-30T21:32:03.004-03:30');
    expect(readableTime(time, true)).toBe('2026-01-31T01:02:03.004Z');
  } finally {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  }
});

test('a shell completes commands, their options and the words of an option', async () => {
  const { stdout } = await runCli(['completion', 'bash']);
  const complete = (line: string): string[] => {
    const words = line.split(' ');
    const script = `${stdout}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _tarefa; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).trim().split('\n');
  };
  expect(complete('tarefa re')).toEqual(['retry', 'resume']);
  expect(complete('tarefa --table tasks --url x can')).toEqual(['cancel']);
  expect(complete('tarefa retry --dr')).toEqual(['--dry-run']);
  expect(complete('tarefa tasks --status ret')).toEqual(['retrying']);
  expect(complete('tarefa subscriptions ad')).toEqual(['add']);
  for (const shell of ['zsh', 'fish']) {
    expect((await runCli(['completion', shell])).stdout).toContain('run-now');
  }
  expect(await runCli(['completion', 'csh'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('bash, zsh, fish'),
  });
});
