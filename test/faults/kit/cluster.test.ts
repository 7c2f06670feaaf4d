import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startCluster, type Cluster } from './cluster.js';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ settings: { max_connections: '40' } });
});

afterAll(() => cluster.stop());

test('a cluster is durable, keeps what was committed over a crash, and stays on its port', async () => {
  const { pool } = await cluster.createDatabase();
  const { rows } = await pool.query(
    `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'max_connections') order by 1`,
  );
  expect(rows.map((row) => Object.values(row).join('='))).toEqual([
    'fsync=on',
    'full_page_writes=on',
    'max_connections=40',
  ]);
  await pool.query('create table note as select 1 as n');
  const { pid, port } = cluster;
  await cluster.crash();
  expect(cluster.pid).toBeUndefined();
  await cluster.start();
  expect(cluster.pid).not.toBe(pid);
  expect(cluster.port).toBe(port);
  expect((await pool.query('select n from note')).rows).toEqual([{ n: 1 }]);
  await cluster.restart('immediate');
  await cluster.restart('fast');
  expect((await pool.query('select n from note')).rows).toEqual([{ n: 1 }]);
  expect(await cluster.log()).toMatch(/automatic recovery in progress|was not properly shut down/);
});

test('settings hold for the connections that follow, until they are reset', async () => {
  const shown = async () => (await cluster.run('show statement_timeout'))[0]?.['statement_timeout'];
  await cluster.settings({ statement_timeout: '7s' });
  expect(await shown()).toBe('7s');
  await cluster.settings({ statement_timeout: null });
  expect(await shown()).toBe('0');
});

test('a stopped cluster leaves no process and no folder', async () => {
  const other = await startCluster();
  const { dataDirectory, pid } = other;
  await other.stop();
  await other.stop();
  expect(existsSync(dataDirectory)).toBe(false);
  expect(() => process.kill(pid ?? 0, 0)).toThrow(/ESRCH/);
});
