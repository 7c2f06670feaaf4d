import { expect, test } from 'vitest';
import { QueueAdmin } from '../../lib/index.js';
import { useCli } from '../cli/queue-cli.js';
import { sqlUnder } from '../docs/documents.js';
import { onPostgres } from '../support/run-database.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();
const cli = useCli(bench);

/** One row of each kind that must not be there, beside others that look like it. */
async function insertInconsistent(): Promise<Readonly<Record<string, string | undefined>>> {
  const [retried, buried, published, held] = await cli.rows(
    'processo, status, reenfileirado, estouro_tentativas, pub_sub, mensagem, executor, finalizada_em',
    `'a', 'falha', true, false, false, 'bad', 1, now()`,
    `'a', 'falha', false, true, false, 'bad', 1, now()`,
    `'a', 'sucesso', false, false, true, 'delivered to 1 subscription', 1, now()`,
    `'a', 'processando', false, false, false, null, 4711, null`,
    `'a', 'falha', false, false, false, 'bad', 1, now()`,
    `'a', 'falha', false, true, false, 'of a program that starts no dead tasks', null, null`,
    `'a', 'sucesso', false, false, true, 'discarded: no active subscription matches', 1, now()`,
    `'a', 'sucesso', false, false, true, 'delivered to everybody', 1, now()`,
  );
  return {
    'no-next-attempt': retried,
    'no-dead-task': buried,
    'missing-deliveries': published,
    'no-worker': held,
  };
}

test('a check finds the rows that the guide finds by SQL', async () => {
  const { app } = await bench.start({ worker: false });
  const admin = app.get(QueueAdmin);
  expect(await admin.check()).toEqual([]);
  const rows = await insertInconsistent();
  const found = await admin.check({ timeoutMs: 60_000 });
  expect(found).toEqual(Object.entries(rows).map(([kind, id]) => ({ kind, count: 1, ids: [id] })));
  const [text = ''] = sqlUnder('docs/guides/operating.md', 'Check the table', onPostgres ? 'sql' : 'mysql');
  const statements = text
    .replaceAll('shop_queue', 'tasks')
    .split(';')
    .filter((one) => one.trim() !== '');
  const ids: string[] = [];
  for (const statement of statements) {
    const answer = await bench.pool.query<{ id: unknown }>(statement.replaceAll(/^--.*$/gm, '').trim());
    ids.push(...answer.rows.map(({ id }) => String(id)));
  }
  expect(ids).toEqual(Object.values(rows));
});

test('a check leaves out what ended before a time, and refuses what is none', async () => {
  const { app } = await bench.start({ worker: false });
  const admin = app.get(QueueAdmin);
  const rows = await insertInconsistent();
  const since = new Date(Date.now() + 3_600_000);
  expect(await admin.check({ since })).toEqual([{ kind: 'no-worker', count: 1, ids: [rows['no-worker']] }]);
  await expect(admin.check({ since: 'yesterday' as never })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(admin.check({ newest: 0 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(admin.check({ timeoutMs: -1 })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('`tarefa status` and QueueAdmin.status() tell of such rows', async () => {
  const { app } = await bench.start({ worker: false });
  const rows = await insertInconsistent();
  const told = Object.entries(rows).map(([inconsistency, id]) => ({
    kind: 'inconsistent',
    inconsistency,
    count: 1,
    ids: [id],
  }));
  // The task that ran out of attempts under another program has no dead task either.
  const problems = [...told, { kind: 'untreated', count: 2, isCapped: false }];
  const { problems: found, buried } = await app.get(QueueAdmin).status();
  expect(found).toEqual(problems);
  expect(buried).toEqual({ treated: 0, untreated: 2, isCapped: false });
  expect(await cli.json(['status'])).toMatchObject({ problems });
  const { stdout } = await cli.run(['status']);
  expect(stdout).toContain(
    `1 publication has fewer deliveries than its message says: ${rows['missing-deliveries']}. See \`tarefa check --help\`\n`,
  );
});

test('`tarefa check` exits with 3 when it finds something, and says what', async () => {
  await bench.start({ worker: false });
  expect(await cli.run(['check'])).toEqual({ code: 0, stdout: 'no inconsistencies found\n', stderr: '' });
  expect(await cli.json(['check'])).toEqual({ since: null, newest: null, inconsistencies: [] });
  const rows = await insertInconsistent();
  expect(await cli.run(['check'])).toEqual({
    code: 3,
    stdout: `1 failed attempt is marked as retried, but has no next attempt: ${rows['no-next-attempt']}
1 task ran out of attempts, but has no dead task: ${rows['no-dead-task']}
1 publication has fewer deliveries than its message says: ${rows['missing-deliveries']}
1 attempt is processing, but no registered worker holds it: ${rows['no-worker']}
`,
    stderr: '',
  });
  const { inconsistencies } = await cli.json<{ inconsistencies: readonly { kind: string }[] }>(['check'], 3);
  expect(inconsistencies.map(({ kind }) => kind)).toEqual(Object.keys(rows));
  expect((await cli.run(['check', '--since', '2999-01-01', '--timeout', '60'])).stdout).toContain(
    '1 attempt',
  );
  expect((await cli.run(['check', '--newest', '8'])).stdout.split('\n')).toHaveLength(5);
  expect((await cli.run(['check', '--newest', '1'])).stdout).toMatch(/^1 attempt is processing[^\n]*\n$/);
  expect(await cli.run(['check', 'now'])).toMatchObject({ code: 1, stdout: '' });
  expect(await cli.run(['check', '--timeout', '0'])).toMatchObject({ code: 1, stdout: '' });
});
