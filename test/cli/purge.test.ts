import { expect, test } from 'vitest';
import { startApp } from '../support/queue-app.js';
import { useQueue } from '../worker/queue-bench.js';
import { useCli } from './queue-cli.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
const cli = useCli(bench);

/** Old ones that are over, one that is young, and one that is old and still waits. */
async function fill(): Promise<void> {
  await bench.start({ worker: false });
  await bench.pool.query(`
    insert into tasks (processo, status, data_hora, subscriber_id)
    select 'a', 'sucesso', now() - interval '100 days' + interval '1 second' * n, null from generate_series(1, 2300) n
    union all select 'b', 'falha', now() - interval '40 days', 's' from generate_series(1, 100) n
    union all select 'a', 'sucesso', now(), null
    union all select 'a', 'pendente', now() - interval '100 days', null`);
}

const left = async (): Promise<number> => Number((await bench.pool.query('select from tasks')).rowCount);

test('a dry run counts by topic what would go, and changes nothing', async () => {
  await fill();
  expect(await cli.json(['purge', '--older-than', '30', '--dry-run'])).toMatchObject({
    olderThanDays: 30,
    dryRun: true,
    rows: 2_400,
    counts: [
      { topic: 'a', subscriptionId: null, rows: 2_300 },
      { topic: 'b', subscriptionId: 's', rows: 100 },
    ],
    finished: true,
  });
  const { stdout } = await cli.run(['purge', '--dry-run']);
  expect(stdout).toMatch(/^topic +subscription +rows +oldest\na +2,300 +2/);
  expect(stdout).toMatch(/\n2,300 rows of tasks that ended more than 60 days ago, the oldest from 2\S+Z\n$/);
  expect((await cli.run(['status'])).stdout).toContain(
    'to purge        2,300 rows of tasks that ended more than 60',
  );
  expect(await left()).toBe(2_402);
});

test('it deletes in blocks what is old enough and over, and says how fast', async () => {
  await fill();
  const answer = await cli.run(['purge', '--older-than', '50.5'], { terminal: 100 });
  expect(answer.code).toBe(0);
  expect(answer.stdout).toMatch(/^2,300 rows deleted in .*, [\d,]+ a second\n$/);
  expect(answer.stderr).toMatch(/\rdeleted {2}2,300 .*\n$/);
  expect(await left()).toBe(102);
  const env = { ...cli.env, QUEUE_PURGE_MAX_AGE: '30', QUEUE_PURGE_LIMIT: '10' };
  const rest = await cli.run(['purge', '--json', '--full-speed'], { env });
  expect(JSON.parse(rest.stdout)).toMatchObject({ olderThanDays: 30, rows: 100, finished: true });
  expect((await cli.run(['purge', '--older-than', '0'])).code).toBe(0);
  const { rows } = await bench.pool.query('select status from tasks');
  expect(rows).toEqual([{ status: 'pendente' }]);
});

test('Ctrl-C ends it between two blocks', async () => {
  await fill();
  const env = { ...cli.env, QUEUE_PURGE_LIMIT: '1' };
  const controller = new AbortController();
  // The bar, which is drawn again after 100 ms, shows a row that is gone: 2,300 statements take longer.
  const { code, stdout } = await cli.run(['purge'], {
    env,
    terminal: 100,
    signal: controller.signal,
    onError: (text) => /deleted {2}[1-9]/.test(text) && controller.abort(),
  });
  expect(code).toBe(3);
  expect(stdout).toMatch(/^[\d,]+ rows deleted in .*; interrupted before it was finished\n$/);
  expect(await left()).toBeGreaterThan(102);
});

testOnPostgres('tasks that another table refers to stay, and the constraint is named', async () => {
  await fill();
  await bench.pool.query(
    `create table invoices (task bigint constraint invoices_task references tasks (id));
     insert into invoices select id from tasks where processo = 'a' order by id limit 2`,
  );
  try {
    const { code, stdout, stderr } = await cli.run(['purge']);
    expect(code).toBe(3);
    expect(stdout).toMatch(/^2,298 rows deleted/);
    expect(stderr).toMatch(/A purge left 2 old tasks, such as \d+, .*invoices_task/);
    expect(await left()).toBe(104);
  } finally {
    await bench.pool.query('drop table invoices');
  }
});

testOnPostgres('of a table in partitions those go that are old as a whole', async () => {
  const app = await startApp(bench.database, {
    queue: 'parts',
    worker: false,
    layout: { partitionIds: 1_000 },
  });
  try {
    await bench.pool.query(`
      insert into parts (processo, status, data_hora)
      select 'a', 'sucesso', now() - interval '100 days' from generate_series(1, 2500) n;
      insert into parts (processo) values ('young')`);
    const partitions = async (): Promise<string | undefined> =>
      /in (\d+) partitions/.exec((await cli.run(['status', '--table', 'parts'])).stdout)?.[1];
    const before = Number(await partitions());
    const dry = await cli.json<{ rows: number }>(['purge', '--table', 'parts', '--dry-run']);
    expect(dry.rows).toBe(2_500);
    const { rows } = await cli.json<{ rows: number }>(['purge', '--table', 'parts']);
    expect(rows).toBeGreaterThan(1_500);
    expect(Number(await partitions())).toBeLessThan(before);
    const young = await bench.pool.query(`select from parts where processo = 'young'`);
    expect(young.rowCount).toBe(1);
  } finally {
    await app.close();
  }
});

test.each<[readonly string[], RegExp]>([
  [['--older-than', '-1'], /--older-than must be a number from 0 to 36500, not "-1"/],
  [['--older-than', 'week'], /--older-than must be a number/],
  [['30'], /purge takes no arguments/],
])('purge %j is refused, and nothing is deleted', async (args, problem) => {
  await fill();
  const { code, stderr } = await cli.run(['purge', ...args]);
  expect([code, stderr]).toEqual([1, expect.stringMatching(problem)]);
  expect(await left()).toBe(2_402);
});
