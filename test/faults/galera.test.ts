import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { mysqlStartMs } from '../support/mysql.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { startGalera, type GaleraCluster } from './kit/galera.js';

let cluster: GaleraCluster;
let pools: readonly [Pool, Pool];

beforeAll(async () => {
  cluster = await startGalera();
  const [first, second] = cluster.nodes;
  const open = ({ url }: { readonly url: string }): Pool =>
    createPool({ uri: url, multipleStatements: true });
  pools = [open(first), open(second)];
  await ask(0, 'create database shop');
  await ask(0, 'create table shop.effect (id int auto_increment primary key, task bigint not null)');
  await onBoth("select 1 from information_schema.tables where table_name = 'effect'", 1);
}, 2 * mysqlStartMs);

afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await cluster.stop();
});

async function ask(node: 0 | 1, sql: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  return (await pools[node].query<RowDataPacket[]>(sql, values))[0];
}

/** What one node has committed the other one applies later. */
async function onBoth(sql: string, rows: number): Promise<void> {
  const counts = (): Promise<number[]> =>
    Promise.all(([0, 1] as const).map(async (node) => (await ask(node, sql)).length));
  await until(
    async () => (await counts()).every((count) => count === rows),
    `both nodes have ${rows}: ${sql}`,
  );
}

class Handlers {
  // One that meets the other node's work fails at its commit.
  @TaskHandler('mark', { retryDelayMs: 0, maxAttempts: 50 })
  async mark(_: unknown, { db, task }: TaskContext): Promise<void> {
    await db.query('insert into effect (task) values (?)', [task.firstAttemptId]);
  }
}

function start(node: 0 | 1, options: QueueAppOptions = {}): Promise<QueueApp> {
  return startApp({ url: `${cluster.nodes[node].url}/shop` }, { handlers: [Handlers], ...options });
}

/** How many tasks have their effect, once both nodes know of so many that succeeded, and of as many effects. */
async function effectsOf(tasks: number): Promise<number> {
  await onBoth("select 1 from shop.tasks where status = 'sucesso'", tasks);
  await onBoth('select 1 from shop.effect', tasks);
  return (await ask(0, 'select distinct task from shop.effect')).length;
}

test('two nodes of Galera: workers hold a lease, ids are those of the rows, a key is taken once in the cluster, and every task has its effect once', async () => {
  const said: string[] = [];
  const warn = (message: unknown): void => void said.push(String(message));
  const logger = { log: () => undefined, error: warn, warn };
  const here = await start(0, { autoStart: false, logger });
  await onBoth("select 1 from information_schema.tables where table_name = 'tasks'", 1);
  const there = await start(1, { worker: false });
  try {
    expect(said.join('\n')).toContain('Galera');

    // The step of ids is the number of nodes.
    const inserted = await here.queue.insertTasks(
      Array.from({ length: 5 }, (_, n) => ({ topic: 'mark', payload: n })),
    );
    const rows = await ask(0, 'select id, payload from shop.tasks order by id');
    expect(rows.map(({ id, payload }) => [String(id), payload])).toEqual(
      inserted.map((id, n) => [id, String(n)]),
    );

    // Both insert at once, and the node that is told of it later undoes its own at the commit.
    for (let round = 0; round < 20; round += 1) {
      const outcomes = await Promise.allSettled(
        [here, there].map(({ queue }) => queue.insertTask({ topic: 'mark', unique: `key-${round}` })),
      );
      const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
      expect(refusals).toEqual([expect.objectContaining({ code: 'TASK_DUPLICATE' })]);
    }

    await here.worker.start();
    expect(await effectsOf(25)).toBe(25);
  } finally {
    await Promise.all([here.close(), there.close()]);
  }
}, 120_000);

test('workers on both nodes, which get into each other’s way, lose and double nothing anyway', async () => {
  await ask(0, 'delete from shop.tasks; delete from shop.effect');
  await onBoth('select 1 from shop.tasks', 0);
  const apps = await Promise.all([start(0), start(1)]);
  try {
    await Promise.all(
      apps.map(({ queue }) => queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'mark' })))),
    );
    expect(await effectsOf(200)).toBe(200);
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
}, 120_000);
