import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startProxy, type DatabaseProxy } from '../support/database-proxy.js';
import { startApp } from '../support/queue-app.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

let database: TestDatabase;
let proxy: DatabaseProxy;

beforeEach(async () => {
  database = await createDatabase();
  await createEffectTable(database);
  proxy = await startProxy(database);
});

afterEach(async () => {
  await proxy.close();
  await database.drop();
});

test('scenario 128: a database that accepts connections and never answers is given up at the start', async () => {
  proxy.silence();
  const connection = { connectionString: proxy.url, connectionTimeoutMillis: 200 };
  await expect(startApp(database, { connection })).rejects.toMatchObject({
    code: 'CONNECTION_LOST',
    message: expect.stringMatching(/did not answer.*timeout/) as unknown,
  });
});

test('scenario 128: a database that falls silent keeps no process from ending', async () => {
  const child = forkWorker(proxy, { shutdownTimeoutMs: 100 });
  await child.message('ready');
  await database.pool.query(`insert into tasks (processo) values ('hold'), ('hold')`);
  await child.message('started');
  proxy.silence();
  child.send('close');
  expect(await child.exit).toEqual({ code: 0, signal: null });
}, 60_000);
