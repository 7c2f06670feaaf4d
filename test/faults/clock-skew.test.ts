import { afterEach, expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import type { Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { fakeTimeLibrary } from './kit/fake-clock.js';
import { startFaultWorker } from './kit/fault-worker.js';
import { allOnce, drained } from './kit/outcome.js';

const skewMs = 600_000;
const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };

const database = await useDatabase();
await createEffectTable(database);
const fakeTime = await fakeTimeLibrary();
let children: Child[] = [];

afterEach(async () => {
  await Promise.all(children.map((child) => child.kill('SIGKILL')));
  children = [];
  await database.pool.query('truncate tasks, effect');
});

/** A worker whose clock is ten minutes ahead, or behind. */
async function startSkewed(sign: '+' | '-'): Promise<Child> {
  const env = {
    LD_PRELOAD: fakeTime,
    FAKETIME: `${sign}10m`,
    // Only what a clock shows, as when somebody has set it.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  const worker = await startFaultWorker(database, { recovery, pollIntervalMs: 0 }, { env });
  children.push(worker);
  worker.send('time');
  const { now } = await worker.message('time');
  const skew = Number(now) - Date.now();
  expect(Math.abs(skew - (sign === '+' ? skewMs : -skewMs))).toBeLessThan(60_000);
  return worker;
}

test.each(['+', '-'] as const)(
  'a worker whose clock is off by %s10 minutes starts nothing early, and nothing late',
  async (sign) => {
    await startSkewed(sign);
    await database.pool.query(
      `insert into tasks (processo, payload, data_hora) values
         ('effect', '{}', now() + interval '5 minutes'), ('effect', '{}', now() + interval '1500 milliseconds'),
         ('batch', '{}', now())`,
    );
    await until(async () => {
      const { rowCount } = await database.pool.query(`select from tasks where status = 'sucesso'`);
      return rowCount === 2;
    }, 'what is due runs');
    const { rows } = await database.pool.query(
      `select status, iniciada_em >= data_hora as due, iniciada_em < data_hora + interval '10 seconds' as soon,
         finalizada_em between now() - interval '1 minute' and now() as ended_now
       from tasks order by id`,
    );
    expect(rows).toEqual([
      { status: 'agendada', due: null, soon: null, ended_now: null },
      { status: 'sucesso', due: true, soon: true, ended_now: true },
      { status: 'sucesso', due: true, soon: true, ended_now: true },
    ]);
  },
);

test.each(['+', '-'] as const)(
  'the next attempt of a worker whose clock is off by %s10 minutes starts when it should',
  async (sign) => {
    await startSkewed(sign);
    await database.pool.query(`insert into tasks (processo, payload) values ('fail once', '{}')`);
    expect(await drained(database.pool)).toEqual(allOnce(0, 1));
    const { rows } = await database.pool.query(
      `select extract(epoch from next.iniciada_em - failed.finalizada_em)::float8 as waited
       from tasks failed join tasks next on next.id_anterior = failed.id`,
    );
    expect(rows).toHaveLength(1);
    const [{ waited }] = rows as [{ waited: number }];
    expect(waited).toBeGreaterThanOrEqual(0.999);
  },
);

test('workers whose clocks differ by 20 minutes see each other alive, and recover one that is killed', async () => {
  const ahead = await startSkewed('+');
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await ahead.message('started');
  const behind = await startSkewed('-');
  // Longer than the skewed one needs to find somebody lost.
  await database.pool.query(
    `insert into tasks (processo, payload, data_hora) values ('batch', '{}', now() + interval '1 second')`,
  );
  await until(async () => {
    const { rowCount } = await database.pool.query(`select from tasks where status = 'sucesso'`);
    return rowCount === 1;
  }, 'a task runs meanwhile');
  expect(behind.messages.filter(({ type }) => type === 'recovered')).toEqual([]);
  await ahead.kill('SIGKILL');
  await behind.message('recovered');
  behind.send('release');
  expect(await drained(database.pool)).toEqual(allOnce(0, 2));
});
