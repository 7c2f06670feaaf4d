import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
const note = ' (no attempts left)';

/** Fails tasks with those errors; returns their rows, with what the database counts of their texts. */
async function failWith(...errors: Error[]) {
  return failUnder({}, ...errors);
}

async function failUnder(options: QueueAppOptions, ...errors: Error[]) {
  class Failing {
    @TaskHandler('fail', { maxAttempts: 1 })
    fail(index: string): void {
      throw errors[Number(index)];
    }
  }
  const { queue } = await bench.start({ handlers: [Failing], ...options });
  const ids = await queue.insertTasks(errors.map((_, index) => ({ topic: 'fail', payload: String(index) })));
  await Promise.all(ids.map((id) => bench.ended(id)));
  const { rows } = await bench.pool.query<{ message: string; length: number; error: string }>(
    `select mensagem as message, length(mensagem)::int as length, erro as error from tasks
     where id = any($1::bigint[]) order by id`,
    [ids],
  );
  return rows;
}

test('a long message is cut to 500 characters, whatever they are, and says what comes next', async () => {
  const rows = await failWith(
    new Error('x'.repeat(10_000)),
    new Error('😀'.repeat(10_000)),
    new Error(`a${'😀'.repeat(499)}`),
    new Error(`${'x'.repeat(499)}😀 and more`),
    new Error('e\u0301'.repeat(300)),
  );
  expect(rows.map(({ length }) => length)).toEqual([500, 500, 500, 500, 500]);
  const room = 500 - note.length;
  expect(rows.map(({ message }) => message)).toEqual([
    'x'.repeat(room) + note,
    '😀'.repeat(room) + note,
    `a${'😀'.repeat(room - 1)}${note}`,
    'x'.repeat(room) + note,
    `${'e\u0301'.repeat(300).slice(0, room)}${note}`,
  ]);
});

test('a NUL character, which PostgreSQL cannot store, is left out of message and error', async () => {
  const [row] = await failWith(new Error('be\0fore and aft\0er'));
  expect(row?.message).toBe(`before and after${note}`);
  expect(row?.error).toContain('Error: before and after');
});

test('half an emoji, which is no text, is stored as what UTF-8 makes of it', async () => {
  const [row] = await failWith(new Error('half \ud83d of one'));
  expect(row?.message).toBe(`half \ufffd of one${note}`);
});

test('the whole error stands in erro with its stack and causes, capped', async () => {
  const [row, long] = await failWith(
    new Error('outer', { cause: new TypeError('inner', { cause: { code: 'E_PAPER' } }) }),
    new Error('x'.repeat(100_000)),
  );
  expect(row?.error).toMatch(/^Error: outer\n {4}at .*failure-messages\.test\.ts/);
  expect(row?.error).toContain('[cause]: TypeError: inner');
  expect(row?.error).toContain("code: 'E_PAPER'");
  expect(long?.error).toHaveLength(8_000);
});

/** As a client of HTTP throws it: with the request, its headers and the whole answer. */
function httpError(): Error {
  const config = { url: '/pay', headers: { Authorization: 'Bearer s3cret-1' }, data: '{"senha":"s3cret-2"}' };
  const cause = Object.assign(new Error('inner'), { config, code: 'E_PAPER', password: 's3cret-3' });
  return Object.assign(new Error('Request failed with status code 402', { cause }), {
    name: 'AxiosError',
    code: 'ERR_BAD_REQUEST',
    config,
    status: 402,
    response: { status: 402, data: { reason: 'no money', cpf: 's3cret-4', card: { number: 's3cret-5' } } },
    request: { _header: 'POST /pay HTTP/1.1\r\nAuthorization: Bearer s3cret-6\r\n' },
  });
}

test('of an error its name, message, stack, code and causes are stored, and nothing else', async () => {
  const many = new AggregateError([httpError(), 's3cret?', { token: 's3cret-7', code: 3 }], 'all failed');
  const [row, aggregate] = await failWith(httpError(), many);
  expect(row?.error).toMatch(/^AxiosError: Request failed with status code 402\n {4}at httpError .* \{\n/s);
  expect(row?.error).toContain("  code: 'ERR_BAD_REQUEST',\n");
  expect(row?.error).toMatch(/\n {2}\[cause\]: Error: inner\n {6}at .*code: 'E_PAPER'/s);
  expect(row?.error).not.toMatch(/s3cret|no money|status:/);
  expect(aggregate?.error).toMatch(
    /\[errors\]: \[\n {4}AxiosError: Request failed.*'s3cret\?',\n {4}\{ token: …, code: 3 \}/s,
  );
  expect(aggregate?.error).not.toMatch(/s3cret-/);
});

test.each([
  ['by their names', ['status', 'response']],
  ['all of them', true],
] as const)(
  'with errorProperties, %s, others are stored as the dashboard shows them',
  async (_which, errorProperties) => {
    const dashboard = { redact: ['cpf', 'response.data.card.number'] };
    const [row] = await failUnder({ errorProperties, dashboard }, httpError());
    expect(row?.error).toContain('status: 402');
    expect(row?.error).toMatch(
      /reason: 'no money',\s*cpf: '\[redacted\]',\s*card: \{ number: '\[redacted\]' \}/,
    );
    expect(row?.error).not.toContain('s3cret');
    expect(row?.error.includes("url: '/pay'")).toBe(errorProperties === true);
  },
);
