import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DeadTaskHandler, QueueAdmin, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';
import { ownSql, testOnPostgres } from '../support/run-database.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

// A constraint or a trigger of the user's may refuse any change of a row: the others must run.
const bench = useQueue();
let runs: string[] = [];
let warnings: string[] = [];

class Handlers {
  @TaskHandler('greet', { maxAttempts: 1 })
  greet(name: string): string {
    runs.push(name);
    if (name === 'fail') throw new Error('not this one');
    return `hello ${name}`;
  }
  @DeadTaskHandler('greet')
  greetDead(): void {}
  @TaskHandler('other')
  other(name: string): void {
    runs.push(name);
  }
  @TaskHandler('grouped', { grouped: true })
  async grouped(name: string, { db }: TaskContext): Promise<void> {
    runs.push(name);
    await db.query(ownSql('select 1'));
  }
}

beforeAll(async () => {
  await (await bench.start({ worker: false })).close();
});

afterEach(() => acceptRows(bench.pool));

async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  runs = [];
  warnings = [];
  const app = await bench.start({ handlers: [Handlers], autoStart: false, ...options });
  app.events.on('warning', ({ message }) => warnings.push(message));
  await app.worker.start();
  return app;
}

/** Inserts a row by SQL, and answers its id. */
async function insert(columns: string, values: string): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (${columns}) values (${values}) returning id`,
  );
  return String(rows[0]?.id);
}

const pending = (name: string, topic = 'greet'): Promise<string> =>
  insert('processo, payload', `'${topic}', '${name}'`);

const refuse = (ids: readonly string[], change = '1 = 1'): Promise<void> =>
  refuseRows(bench.pool, {
    when: 'before update',
    condition: `old.id in (${ids.join(', ')}) and ${change}`,
    message: 'frozen by the auditors',
  });

const hasStatus = (ids: readonly string[], status: string) =>
  until(async () => {
    const { rows } = await bench.pool.query(`select id from tasks where id = any($1) and status = $2`, [
      ids,
      status,
    ]);
    return rows.length === ids.length;
  }, `${ids.length} to be ${status}`);

const aboutRow = (id: string) =>
  expect.stringMatching(new RegExp(`^Attempt ${id} cannot be changed: .*frozen by the auditors`));

describe.each([
  ['pending', 'pendente', `now()`],
  ['scheduled and due', 'agendada', `now() - interval '1 second'`],
])('a row that is %s and may not be changed', (_, status, due) => {
  test('is named and set apart, those of its topic and of others run, and it runs once it may', async () => {
    const frozen = await insert(
      'processo, payload, status, data_hora, prioridade',
      `'greet', 'frozen', '${status}', ${due}, 90`,
    );
    await refuse([frozen]);
    const ids = [await pending('one'), await pending('two', 'other')];
    const { queue } = await start();
    ids.push(await queue.insertTask({ topic: 'greet', payload: 'three' }));
    ids.push(await queue.insertTask({ topic: 'other', payload: 'four', delayMs: 100 }));
    expect(await hasStatus(ids, 'sucesso')).toBe(true);
    expect(runs.toSorted()).toEqual(['four', 'one', 'three', 'two']);
    expect(await bench.statusOf(frozen)).not.toBe('sucesso');
    expect(warnings).toEqual([aboutRow(frozen)]);
    await acceptRows(bench.pool);
    expect(await hasStatus([frozen], 'sucesso')).toBe(true);
    expect(warnings).toEqual([aboutRow(frozen)]);
  });
});

test('a worker whose every row is refused stands still, until one is taken', async () => {
  // What watches the worker is the only thing here that counts in minutes.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { worker, queue } = await start();
  await refuseRows(bench.pool, { when: 'before update', condition: '1 = 1', message: 'broken' });
  const ids = [
    await queue.insertTask({ topic: 'greet', payload: 'one' }),
    await queue.insertTask({ topic: 'other', payload: 'two', delayMs: 100 }),
  ];
  await until(async () => warnings.length === ids.length, 'each to be named');
  vi.advanceTimersByTime(70_000);
  expect(worker.stalled).toEqual({
    workerId: worker.id,
    reason: expect.stringMatching(/^the database refuses every change .*\(2 attempts skipped\): .*broken/),
    forMs: 60_000,
  });
  await acceptRows(bench.pool);
  expect(await hasStatus(ids, 'sucesso')).toBe(true);
  expect(worker.stalled).toBeUndefined();
});

testOnPostgres('a row that breaks a constraint which was not validated stops nobody', async () => {
  const odd = await pending('plain text');
  await bench.pool.query(
    `alter table tasks add constraint json_only check (payload is null or payload like '{%') not valid`,
  );
  const { queue } = await start();
  const id = await queue.insertTask({ topic: 'other', payload: { n: 1 } });
  expect(await hasStatus([id], 'sucesso')).toBe(true);
  expect(warnings).toEqual([expect.stringMatching(`Attempt ${odd} cannot be changed: .*json_only`)]);
  await bench.pool.query('alter table tasks drop constraint json_only');
  expect(await hasStatus([odd], 'sucesso')).toBe(true);
});

testOnPostgres('a row that a constraint trigger refuses only at the commit stops nobody', async () => {
  const odd = await pending('late');
  await bench.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = 'TA001'; end $$;
    create constraint trigger refuse after update on tasks deferrable initially deferred for each row
      when (old.id = ${odd}) execute function refuse()`);
  const id = await pending('beside');
  await start();
  expect(await hasStatus([id], 'sucesso')).toBe(true);
  expect(warnings).toEqual([expect.stringContaining(`Attempt ${odd} cannot be changed`)]);
});

test('many rows of a topic that may not be changed stop neither that topic nor others', async () => {
  const frozen: string[] = [];
  for (let n = 0; n < 40; n += 1) {
    frozen.push(
      await insert(
        'processo, payload, status, data_hora',
        `'greet', 'frozen', '${n % 2 === 0 ? 'pendente' : 'agendada'}', now() - interval '1 minute'`,
      ),
    );
  }
  await refuse(frozen);
  const ids = [await pending('one'), await pending('two', 'other')];
  await start({ concurrency: 4 });
  expect(await hasStatus(ids, 'sucesso')).toBe(true);
  await until(async () => warnings.length === frozen.length, 'each to be named');
  expect(new Set(warnings).size).toBe(frozen.length);
});

test('an outcome that travels with a claim of such a row stays what it is', async () => {
  const first = await pending('first');
  const frozen = await pending('frozen');
  await refuse([frozen]);
  await start({ concurrency: 1 });
  expect(await hasStatus([first], 'sucesso')).toBe(true);
  expect(runs).toEqual(['first']);
});

test('a dead task without a handler that may not be changed stops no other one', async () => {
  const [frozen, other] = [
    await insert('processo, dead', `'nobody', true`),
    await insert('processo, dead', `'nobody', true`),
  ];
  await refuse([frozen]);
  await start();
  expect(await bench.ended(other)).toMatchObject({ dead: true });
  expect(warnings).toContainEqual(aboutRow(frozen));
});

test('a task of a group whose success is refused fails alone', async () => {
  const ids = [await pending('a', 'grouped'), await pending('b', 'grouped'), await pending('c', 'grouped')];
  const [odd = '', ...others] = ids;
  await refuse([odd], `new.status = 'sucesso'`);
  await start();
  expect(await hasStatus(others, 'sucesso')).toBe(true);
  await until(async () => (await bench.statusOf(odd)) === 'falha', 'it fails');
});

testOnPostgres(
  'an attempt that a Python worker left is taken over though another one may not be changed',
  async () => {
    const [frozen, other] = [
      await insert('processo, status', `'greet', 'processando'`),
      await insert('processo, status', `'greet', 'processando'`),
    ];
    await refuse([frozen]);
    await start({ interop: 'nsj', recovery: { intervalMs: 100, confirmMs: 50, graceMs: 0 } });
    expect(await hasStatus([other], 'falha')).toBe(true);
    expect(warnings).toContainEqual(aboutRow(frozen));
  },
);

describe('many tasks at once', () => {
  test.each([
    ['cancel', 'pendente', 'falha'],
    ['retry', 'falha', 'falha'],
  ] as const)('%s passes by a task that may not be changed, and names it', async (kind, status, then) => {
    const { app } = await bench.start({ worker: false });
    const ids: string[] = [];
    for (let n = 0; n < 9; n += 1) ids.push(await insert('processo, status', `'greet', '${status}'`));
    const odd = ids[4] ?? '';
    await refuse([odd]);
    const run = app.get(QueueAdmin).bulk(kind);
    let done = 0;
    for await (const some of run.run(await run.plan({ topic: 'greet' }))) done += some;
    expect(done).toBe(8);
    expect(run.refused).toEqual([{ id: odd, message: expect.stringContaining('frozen by the auditors') }]);
    const { rows } = await bench.pool.query(
      'select id, status, reenfileirado from tasks where id <= $1 order by id',
      [ids.at(-1)],
    );
    for (const row of rows) {
      const isOdd = String(row.id) === odd;
      expect(row.status).toBe(isOdd ? status : then);
      expect(Boolean(Number(row.reenfileirado))).toBe(kind === 'retry' && !isOdd);
    }
  });

  testOnPostgres(
    'delete passes by a task that another table refers to, and names the constraint',
    async () => {
      const { app } = await bench.start({ worker: false });
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await pending('x'));
      const odd = ids[2] ?? '';
      await bench.pool.query(
        `create table invoices (task bigint constraint invoices_task references tasks (id)); insert into invoices values (${odd})`,
      );
      const run = app.get(QueueAdmin).bulk('delete');
      let done = 0;
      for await (const some of run.run(await run.plan({}))) done += some;
      expect(done).toBe(4);
      expect(run.refused).toEqual([{ id: odd, message: expect.stringContaining('invoices_task') }]);
      await bench.pool.query('drop table invoices');
    },
  );
});
