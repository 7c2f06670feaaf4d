import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import type { Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

const tasks = 2_000;

const database = await useDatabase();
await createEffectTable(database);

test('workers restarted by SIGTERM in turn waste no attempt and leave nothing to recover', async () => {
  const { pool } = database;
  const fleet = await Promise.all([startWorker(), startWorker(), startWorker()]);
  const all = [...fleet];
  await pool.query(
    `insert into tasks (processo, payload)
     select 'effect', '{"ms":' || case when n % 50 = 0 then 1500 else 20 + n % 40 end || '}'
     from generate_series(1, $1::int) n`,
    [tasks],
  );
  for (const [index, worker] of fleet.entries()) {
    await until(async () => (await effects()) > (index * tasks) / 10, 'the fleet is at work', 60_000);
    // Nest closes the application and then ends the process with the signal it got.
    expect(await worker.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
    all.push((fleet[index] = await startWorker()));
  }
  await until(async () => (await effects()) >= tasks, 'all tasks are done', 60_000);
  expect(await effects()).toBe(tasks);
  await Promise.all(fleet.map((worker) => worker.kill('SIGTERM')));

  const told = (type: string): number =>
    all.flatMap(({ messages }) => messages.filter((one) => one.type === type)).length;
  // What a claim under way at SIGTERM brings is given back before it starts, and claimed once more.
  const rows = await pool.query(
    `select status, tentativa, perdas, sum(reserva)::int as claims, count(*)::int as n from tasks group by 1, 2, 3`,
  );
  const claims = tasks + told('given back');
  expect(rows.rows).toEqual([{ status: 'sucesso', tentativa: 1, perdas: 0, claims, n: tasks }]);
  const present = await pool.query('select from tasks_worker where stopped_at is null');
  expect(present.rowCount).toBe(0);
  expect(told('recovered')).toBe(0);
}, 120_000);

async function startWorker(): Promise<Child> {
  // Recovery that is too eager would show here.
  const worker = forkWorker(database, { recovery: { intervalMs: 50, confirmMs: 50, graceMs: 0 } });
  await worker.message('ready');
  return worker;
}

async function effects(): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from effect');
  return rows[0]?.n ?? 0;
}
