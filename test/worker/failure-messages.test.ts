import { expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
const note = ' (no attempts left)';

/** Fails tasks with those errors; answers their rows, with what the database counts of their texts. */
async function failWith(...errors: Error[]) {
  class Failing {
    @TaskHandler('fail', { maxAttempts: 1 })
    fail(index: string): void {
      throw errors[Number(index)];
    }
  }
  const { queue } = await bench.start({ handlers: [Failing] });
  const ids = await queue.insertTasks(errors.map((_, index) => ({ topic: 'fail', payload: String(index) })));
  await Promise.all(ids.map((id) => bench.ended(id)));
  const { rows } = await bench.pool.query<{ message: string; length: number; error: string }>(
    `select mensagem as message, length(mensagem)::int as length, erro as error from tasks
     where id = any($1::bigint[]) order by id`,
    [ids],
  );
  return rows;
}

test('scenario 47: a long message is cut to 500 characters, whatever they are, and says what comes next', async () => {
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
