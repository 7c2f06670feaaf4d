import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

// A database whose encoding has no emoji refuses texts that JavaScript can hold.
class Talking {
  @TaskHandler('say')
  say(text: string): string {
    return text;
  }
  @TaskHandler('return')
  return(text: string): unknown {
    return { said: text };
  }
  @TaskHandler('smile')
  smile(): unknown {
    return ['→😀'];
  }
  @TaskHandler('smile in words')
  smileInWords(): string {
    return '→ 😀';
  }
  @TaskHandler('in a transaction')
  async inTransaction(_: unknown, ctx: TaskContext): Promise<string> {
    await ctx.db.query('select 1');
    return '→ 😀';
  }
  @TaskHandler('in a group', { grouped: true })
  async inGroup(_: unknown, ctx: TaskContext): Promise<string> {
    await ctx.db.query('select 1');
    return '→ 😀';
  }
  @TaskHandler('fail')
  fail(): void {
    throw new Error('não 😀');
  }
}

let database: TestDatabase;
afterEach(() => database.drop());

/** The ends of some tasks, by topic. */
async function run(encoding: string): Promise<Record<string, unknown>> {
  database = await createDatabase(encoding);
  const { queue, close } = await startApp(database, { handlers: [Talking], maxAttempts: 1 });
  await queue.insertTasks([
    { topic: 'say', payload: 'olá' },
    { topic: 'return', payload: 'às' },
    { topic: 'smile' },
    { topic: 'smile in words' },
    { topic: 'in a transaction' },
    { topic: 'in a group' },
    { topic: 'fail' },
  ]);
  const ended = await until(async () => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select processo, status, mensagem, resultado, erro from tasks where not dead and status in ('sucesso', 'falha')`,
    );
    return rows.length === 7 && rows;
  }, 'all to end');
  await close();
  return Object.fromEntries(ended.map(({ processo, ...rest }) => [processo, rest]));
}

test.each(['LATIN1', 'WIN1252', 'LATIN9'])(
  'in %s, what the encoding lacks is replaced in messages and errors, and escaped in results',
  async (encoding) => {
    const succeeded = { status: 'sucesso', resultado: null };
    const smiled = { ...succeeded, mensagem: '? ?' };
    expect(await run(encoding)).toMatchObject({
      say: { ...succeeded, mensagem: 'olá' },
      return: { status: 'sucesso', resultado: '{"said":"às"}' },
      smile: { status: 'sucesso', resultado: '["\\u2192\\ud83d\\ude00"]' },
      'smile in words': smiled,
      'in a transaction': smiled,
      'in a group': smiled,
      fail: {
        status: 'falha',
        mensagem: 'não ? (no attempts left)',
        erro: expect.stringContaining('Error: não ?'),
      },
    });
  },
);

test('what an encoding has of characters beyond Latin 1 is kept', async () => {
  database = await createDatabase('WIN1252');
  const { queue, close } = await startApp(database, { handlers: [Talking], maxAttempts: 1 });
  await queue.insertTask({ topic: 'say', payload: '“10 €”' });
  const message = await until(async () => {
    const { rows } = await database.pool.query<{ mensagem: string }>(
      `select mensagem from tasks where status = 'sucesso'`,
    );
    return rows[0]?.mensagem;
  }, 'it to end');
  await close();
  expect(message).toBe('“10 €”');
});

test('a task with a character that the encoding lacks is refused with the reason, whoever commits', async () => {
  database = await createDatabase('LATIN1');
  const { queue, close } = await startApp(database, { worker: false });
  const task = { topic: 'say', payload: 'não 😀' };
  const reason = {
    code: 'INPUT_INVALID',
    message: expect.stringMatching(
      /encoding of the database lacks \(.*LATIN1.*\).*nothing was inserted/,
    ) as string,
  };
  await expect(queue.insertTask(task)).rejects.toMatchObject(reason);
  await expect(queue.insertTasks([{ topic: 'say', payload: 'é' }, task])).rejects.toMatchObject(reason);
  const tx = await database.pool.connect();
  await tx.query('begin');
  await expect(queue.insertTask(task, { tx })).rejects.toMatchObject(reason);
  await tx.query('rollback');
  tx.release();
  expect((await database.pool.query('select from tasks')).rowCount).toBe(0);
  await close();
});
