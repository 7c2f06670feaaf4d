import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';
import { testOnPostgres } from '../support/run-database.js';

// A row that cannot be failed must not keep the others of its worker.
const database = await useDatabase();
const { pool } = database;
const app = await useApp(database, { recovery: { intervalMs: 200, confirmMs: 100 }, unknownTasks: 'leave' });

/** Attempts of a worker that is no more. */
async function leave(count: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into tasks (processo, status, executor, reserva)
     select 'hold', 'processando', 4711, 1 from generate_series(1, $1::int) returning id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

const failed = (ids: readonly string[]) =>
  until(async () => {
    const { rows } = await pool.query(`select from tasks where id = any($1) and status = 'falha'`, [ids]);
    return rows.length === ids.length;
  }, 'the others to be recovered');

test('a row that a trigger keeps as it is keeps no other one of its worker', async () => {
  const warnings: string[] = [];
  app.events.on('warning', ({ message }) => warnings.push(message));
  const ids = await leave(7);
  const odd = ids[3] ?? '';
  await refuseRows(pool, {
    when: 'before update',
    condition: `old.id = ${odd} and new.status = 'falha'`,
    message: 'mine',
  });
  await failed(ids.filter((id) => id !== odd));
  const { rows } = await pool.query('select status from tasks where id = $1', [odd]);
  expect(rows).toEqual([{ status: 'processando' }]);
  expect(warnings).toEqual([expect.stringMatching(`attempt ${odd} of a lost worker cannot be failed: mine`)]);
  await acceptRows(pool);
  await failed([odd]);
});

testOnPostgres('a row with values at the ends of their types is recovered as any', async () => {
  const ids = await leave(3);
  await pool.query(
    `update tasks set perdas = 2147483647, tentativa = 2147483647, rodada = 2147483647, data_hora = 'infinity',
       iniciada_em = 'infinity', reserva = 2147483647 where id = $1`,
    [ids[0]],
  );
  expect(await failed(ids)).toBe(true);
});
