import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

const database = await useDatabase();
await createEffectTable(database);

const connections = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'tarefa%'`,
  );
  return rows[0]?.n ?? 0;
};

test('nothing keeps a process alive after its application was closed', async () => {
  const child = forkWorker(database);
  await child.message('ready');
  await database.pool.query(
    `insert into tasks (processo, payload, data_hora)
     values ('effect', '{}', now()), ('nobody handles this', '{}', now()), ('effect', '{}', now() + interval '1 hour')`,
  );
  await until(async () => (await database.pool.query('select from effect')).rowCount === 1, 'the effect');
  expect(await connections()).toBeGreaterThan(0);
  child.send('close');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  await until(async () => (await connections()) === 0, 'all connections of the process are closed');
});

test('a process that only produces ends as well', async () => {
  const child = forkWorker(database, { worker: false });
  await child.message('ready');
  child.send('close');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});
