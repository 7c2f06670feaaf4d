import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { startCluster, type Cluster, type ClusterDatabase } from '../faults/kit/cluster.js';
import { startProxy } from '../support/database-proxy.js';
import { startApp } from '../support/queue-app.js';
import { occupyThreadPool } from '../support/thread-pool.js';
import { deferred, nextEvent } from '../support/waiting.js';

let cluster: Cluster;
let database: ClusterDatabase;

beforeAll(async () => {
  cluster = await startCluster();
  database = await cluster.createDatabase();
  // SCRAM itself is work for the thread pool, in the driver: see docs/guides/deployment.md.
  await writeFile(join(cluster.dataDirectory, 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n');
  await cluster.run('select pg_reload_conf()');
});

afterAll(() => cluster.stop());

test('a worker that loses its connections while the thread pool is taken is back before it is free', async () => {
  const proxy = await startProxy(database);
  const address = new URL(proxy.url);
  // A name, which has to be looked up: on one of the pool's threads.
  address.hostname = 'localhost';
  const ran = deferred();
  class Handlers {
    @TaskHandler('in transaction')
    async write(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
      ran.resolve();
    }
  }
  const app = await startApp(database, {
    connection: address.href,
    handlers: [Handlers],
    history: false,
    pollIntervalMs: 0,
  });
  const ready = await database.pool.connect();
  const threads = occupyThreadPool();
  const restored = ['session', 'control'].map((name) =>
    nextEvent(app.events, 'connection.restored', ({ connection }) => connection === name),
  );
  expect(proxy.reset()).toBeGreaterThan(1);
  await Promise.all(restored);
  await ready.query(`insert into tasks (processo) values ('in transaction')`);
  await ran.promise;
  await threads.release();
  ready.release();
  await app.close();
  await proxy.close();
});
