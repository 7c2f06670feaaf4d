import { Inject } from '@nestjs/common';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { QueueClient, TaskHandler, type TaskContext } from '../../lib/index.js';
import { leaveEffect } from '../support/leave-effect.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { cutConnections } from './kit/cut.js';
import { allOnce, drained } from './kit/outcome.js';
import { perSecond } from './kit/rate.js';

const mostConnections = 30;

let cluster: Cluster;
let database: ClusterDatabase;
let app: QueueApp | undefined;
const outsiders: Client[] = [];

beforeAll(async () => {
  cluster = await startCluster({ settings: { max_connections: String(mostConnections) } });
  database = await cluster.createDatabase();
  await createEffectTable(database);
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await database.pool.query('truncate tasks, effect');
});

afterAll(() => cluster.stop());

class Handlers {
  constructor(@Inject(QueueClient) private readonly queue: QueueClient) {}

  @TaskHandler('effect', { retryDelayMs: 50 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('batch')
  batch(): void {}

  /** Holds a connection of the pool and asks for one more. */
  @TaskHandler('effect, greedy')
  async greedy(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
    await this.queue.insertTask({ topic: 'batch' });
    await this.queue.insertTask({ topic: 'effect' }, { tx: ctx.db });
  }
}

/** Takes every connection that the server has left. */
async function takeAll(): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: cluster.url, application_name: 'outsider' });
    client.on('error', () => undefined);
    const taken = await client.connect().then(
      () => true,
      async (error: { code?: unknown }) => {
        expect(error.code).toBe('53300');
        return false;
      },
    );
    if (!taken) return;
    outsiders.push(client);
  }
}

test('handlers that hold every connection of the pool, with others waiting, and each asking for one more, all end', async () => {
  app = await startApp(database, { handlers: [Handlers], concurrency: 12, poolSize: 3 });
  await app.queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'effect, greedy' })));
  expect(await drained(database.pool)).toEqual(allOnce(200, 100));
  const { rows } = await database.pool.query('select max(tentativa) as attempts from tasks');
  expect(rows).toEqual([{ attempts: 1 }]);
});

test('a server that has no connection left when the worker has lost its own: it waits, and comes back by itself', async () => {
  const log = new LogLines();
  app = await startApp(database, {
    handlers: [Handlers],
    logger: log,
    pollIntervalMs: 200,
    retryIntervalMinutes: 0,
  });
  await app.queue.insertTasks(Array.from({ length: 10 }, () => ({ topic: 'effect' })));
  expect(await drained(database.pool)).toEqual(allOnce(10));

  const refused = async (): Promise<number> => (await cluster.log()).split('too many clients').length - 1;
  await takeAll();
  // Whoever is quicker takes the place: the outsiders, sooner or later.
  await until(async () => {
    const cut = await cutConnections(database.pool);
    await takeAll();
    return cut === 0;
  }, 'the worker has no connection left');
  await database.pool.query(
    `insert into tasks (processo, payload) select 'effect', '{}' from generate_series(1, 10)`,
  );
  await expect(app.queue.insertTask({ topic: 'batch' })).rejects.toMatchObject({ code: '53300' });
  expect(await perSecond(refused)).toBeLessThan(10);
  await Promise.all(outsiders.splice(0).map((client) => client.end()));

  expect(await drained(database.pool)).toEqual(allOnce(20));
  await until(
    async () => log.of('log').some((line) => line === 'the session connection is back'),
    'the session is back',
  );
  await app.queue.insertTask({ topic: 'batch' });
  expect(await drained(database.pool)).toEqual(allOnce(20, 1));
  // It did not say it again with every attempt to connect.
  for (const kind of ['session', 'control']) {
    const lines = log.of().filter((line) => line.startsWith(`the ${kind} connection`));
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.map((line, n) => line.includes('was lost') === (n % 2 === 0))).not.toContain(false);
  }
  const said = (words: string): number => log.of().filter((line) => line.includes(words)).length;
  expect(said('hit a database error')).toBeLessThanOrEqual(said(' recovered') + 1);
}, 60_000);
