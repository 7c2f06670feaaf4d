import { expect, test } from 'vitest';
import { deferred, nextEvent } from '../../../support/waiting.js';
import { noTransaction, succeed, useGroups, type Act } from './group-bench.js';
import { ownSql } from '../../../support/run-database.js';

const bench = useGroups();

/** The third of five does that. */
const third = (act: Act): readonly Act[] => [succeed, succeed, act, succeed, succeed];
const thirdFailed = ['sucesso', 'sucesso', 'falha', 'sucesso', 'sucesso'];

const byHand = 'leave COMMIT and ROLLBACK to the queue';

test.each(['commit', 'end'])(
  'one that sends %s fails; the work before it is kept, and was done once',
  async (sql) => {
    const { rows, runs, effects } = await bench.run(third(({ db }) => db.query(sql)));
    expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
    expect(rows[2]?.mensagem).toContain(byHand);
    expect(runs).toEqual([1, 1, 1, 1, 1]);
    expect(effects).toEqual([1, 1, 1, 1, 1]);
  },
);

test.each(['rollback', 'abort'])('one that sends %s fails; those before it run again, alone', async (sql) => {
  const { rows, runs, effects } = await bench.run(third(({ db }) => db.query(sql)));
  expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
  expect(rows[2]?.mensagem).toContain(byHand);
  expect(runs).toEqual([2, 2, 1, 1, 1]);
  expect(effects).toEqual([1, 1, 0, 1, 1]);
});

test.each(['commit', 'rollback'])('the same by ctx.client(), without waiting for it: %s', async (sql) => {
  const { rows, effects } = await bench.run(
    third(async (ctx) => {
      const client = await ctx.client();
      void client.query(sql);
    }),
  );
  expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
  expect(rows[2]?.mensagem).toContain(byHand);
  expect(effects.toSpliced(2, 1)).toEqual([1, 1, 1, 1]);
});

test('one that ends the transaction and then throws harms nobody', async () => {
  const { rows, effects } = await bench.run(
    third(async ({ db }) => {
      await db.query('rollback');
      throw new Error('and now this');
    }),
  );
  expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
  expect(rows[2]?.mensagem).toContain('and now this');
  expect(effects).toEqual([1, 1, 0, 1, 1]);
});

test.each(['commit', 'rollback'])(
  'one that begins another transaction after its %s harms nobody',
  async (sql) => {
    const { rows, effects } = await bench.run(
      third(async ({ db }) => {
        await db.query(sql);
        await db.query('begin');
      }),
    );
    const others = rows.toSpliced(2, 1);
    expect(others.map(({ status }) => status)).toEqual(['sucesso', 'sucesso', 'sucesso', 'sucesso']);
    expect(effects.toSpliced(2, 1)).toEqual([1, 1, 1, 1]);
  },
);

test('an attempt that was taken away commits nothing; the others do', async () => {
  const started = await bench.begin(
    third(({ task }) => bench.pool.query('update tasks set reserva = reserva + 1 where id = $1', [task.id])),
    { autoStart: false },
  );
  const lost = nextEvent(started.events, 'task.lost');
  await started.worker.start();
  expect((await lost).task.id).toBe(started.ids[2]);
  const others = started.ids.toSpliced(2, 1);
  const rows = await Promise.all(others.map((id) => bench.ended(id)));
  expect(rows.map(({ status, tentativa }) => `${status} ${tentativa}`)).toEqual(Array(4).fill('sucesso 1'));
  expect((await bench.effects()).map(({ task }) => task)).toEqual(others);
  expect(await bench.row(started.ids[2] ?? '')).toMatchObject({ status: 'processando', reserva: 2 });
});

test('a constraint that is checked at COMMIT fails its own task only', async () => {
  const { rows, runs, effects } = await bench.run(
    third(({ db, task }) => db.query(ownSql('insert into effect (task, parent) values ($1, 99)'), [task.id])),
  );
  expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
  expect(rows[2]?.mensagem).toContain('violates foreign key constraint');
  expect(effects).toEqual([1, 1, 0, 1, 1]);
  expect(runs).toEqual([2, 2, 2, 2, 2]);
});

test('an outcome that the database refuses fails its own task only', async () => {
  await bench.pool.query(
    'alter table tasks add constraint polite check (mensagem is distinct from $$rude$$)',
  );
  try {
    const { rows, effects } = await bench.run(third(() => 'rude'));
    expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
    expect(rows[2]?.mensagem).toContain('violates check constraint');
    expect(effects).toEqual([1, 1, 0, 1, 1]);
  } finally {
    await bench.pool.query('alter table tasks drop constraint polite');
  }
});

test('one that times out fails at once; those before it run again, those behind it need not wait for it', async () => {
  const end = deferred();
  const { outcome, worker } = await bench.begin(
    third(() => end.promise),
    { handler: { timeoutMs: 200 } },
  );
  const { rows, runs, effects } = await outcome();
  expect(rows.map(({ status }) => status)).toEqual(thirdFailed);
  expect(rows[2]?.mensagem).toContain('did not end within its timeoutMs (200)');
  expect({ runs, effects }).toEqual({ runs: [2, 2, 1, 1, 1], effects: [1, 1, 0, 1, 1] });
  expect(worker.running).toBe(1);
  end.resolve();
  await noTransaction(bench);
});

test('one that met another task by a lock runs again alone, without using up its attempt', async () => {
  const { rows, runs, effects } = await bench.run(
    third(async ({ db }, run) => {
      if (run === 1) await db.query(`do $$ begin raise exception 'met' using errcode = '40P01'; end $$`);
    }),
  );
  expect(rows.map(({ status }) => status)).toEqual(Array(5).fill('sucesso'));
  expect({ runs, effects }).toEqual({ runs: [1, 1, 2, 1, 1], effects: [1, 1, 1, 1, 1] });
});

test('two groups that wait for each other both succeed', async () => {
  await bench.pool.query('create table meeting (place int primary key); insert into meeting values (1), (2)');
  const reached = [deferred(), deferred()];
  const take = (place: number): string => `update meeting set place = place where place = ${place}`;
  const meet =
    (own: number): Act =>
    async ({ db }, run) => {
      await db.query(take(own));
      reached[own - 1]?.resolve();
      if (run === 1) await Promise.all(reached.map(({ promise }) => promise));
      await db.query(take(3 - own));
    };
  // So many that a second group begins; it gets the second task while the first one waits.
  const acts = [meet(1), meet(2), ...Array<Act>(12).fill(succeed)];
  const { rows, effects } = await bench.run(acts, { concurrency: 20, poolSize: 4 });
  const all = acts.map(() => 'sucesso 1');
  expect(rows.map(({ status, tentativa }) => `${status} ${tentativa}`)).toEqual(all);
  expect(effects).toEqual(acts.map(() => 1));
});
