import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import type { Child } from '../support/processes.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

const tasks = 10_000;
const options = { recovery: { intervalMs: 250, confirmMs: 250, graceMs: 0 }, poolSize: 5 };

const database = await useDatabase();
await createEffectTable(database);

test('five workers, one of them killed every second: each of 10,000 tasks has exactly one effect', async () => {
  const { pool } = database;
  const fleet = await Promise.all(Array.from({ length: 5 }, startWorker));
  await pool.query(
    `insert into tasks (processo, payload)
     select 'effect', '{"ms":' || 10 + n % 40 || '}' from generate_series(1, $1::int) n`,
    [tasks],
  );
  let kills = 0;
  while ((await countUnfinished()) > 0) {
    const victim = kills % fleet.length;
    await fleet[victim]?.kill('SIGKILL');
    kills += 1;
    // On a machine so busy that a process needs more than a second to boot, the next one lives a little longer.
    [fleet[victim]] = await Promise.all([startWorker(), pause(1_000)]);
  }

  const effects = await pool.query<{ all: number; roots: number }>(
    'select count(*)::int as all, count(distinct task_root)::int as roots from effect',
  );
  const chains = await pool.query<{ outcome: string; n: number }>(
    `select status || case when dead then ' dead' else '' end as outcome, count(*)::int as n
     from tasks where not reenfileirado group by 1`,
  );
  const lost = await pool.query("select from tasks where status = 'falha'");
  expect(effects.rows).toEqual([{ all: tasks, roots: tasks }]);
  expect(chains.rows).toEqual([{ outcome: 'sucesso', n: tasks }]);
  // Otherwise nothing was put to the test.
  expect(kills).toBeGreaterThan(1);
  expect(lost.rowCount).toBeGreaterThan(0);
}, 180_000);

async function startWorker(): Promise<Child> {
  const worker = forkWorker(database, options);
  await worker.message('ready');
  return worker;
}

async function countUnfinished(): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from tasks where status in ('pendente', 'agendada', 'processando')`,
  );
  return rows[0]?.n ?? 0;
}
