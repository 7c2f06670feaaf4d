import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { startCluster, type Cluster, type ClusterDatabase } from '../faults/kit/cluster.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

/** What the design allows a worker that has nothing to do to send in a minute, and the one that recovers besides. */
const allowed = { worker: 8, recoverer: 12 };
const minuteMs = 60_000;
const everyMs = 5_000;
/** Longer than a pool keeps a connection that is not used. */
const settleMs = 15_000;

/** They run once in every minute that is looked at; by default they do in every fifth. */
const everyMinute = Array.from({ length: 60 }, (_, minute) => minute);

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    settings: { log_statement: 'all', log_connections: 'on', log_line_prefix: '%d|%n|' },
  });
});

afterAll(() => cluster.stop());

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

/** What a database's clients do, as its server writes it down. */
interface Traffic {
  /** Names of the statements, or their first lines. */
  readonly statements: string[];
  /** Connections that were opened. */
  readonly connections: readonly string[];
}

async function startIdle(
  options: QueueAppOptions,
): Promise<QueueApp & { readonly database: ClusterDatabase }> {
  const database = await cluster.createDatabase();
  const app = await startApp(database, {
    handlers: [Handlers],
    retryMinutes: everyMinute,
    notifyMinutes: everyMinute,
    ...options,
  });
  // Something has ended before, and is written down by now.
  await app.queue.insertTask({ topic: 'work' });
  await until(
    async () => (await database.pool.query(`select from tasks_history where route <> ''`)).rowCount === 1,
    'the history of what ended',
    30_000,
  );
  return { ...app, database };
}

/** Reads the server's log from that second on, for a minute: events begin with a database and a time. */
function trafficOf(log: string, { url }: ClusterDatabase, fromSecond: number): Traffic {
  const statements: string[] = [];
  const connections: string[] = [];
  const database = new URL(url).pathname.slice(1);
  for (const line of log.split('\n')) {
    const [name, second = '', event = ''] = line.split('|', 3);
    const age = Number(second) - fromSecond;
    if (name !== database || age < 0 || age >= minuteMs / 1_000) continue;
    const [, sent] = /LOG: {2}(?:statement|execute [^:]*): (.*)$/.exec(event) ?? [];
    if (sent !== undefined) statements.push(/^-- name: (\w+)/.exec(sent)?.[1] ?? sent);
    if (event.includes('connection authorized') && event.includes('=tarefa ')) connections.push(event);
  }
  return { statements, connections };
}

test('in a whole minute an idle worker sends no more than the design allows, routines and history included, and opens no connection', async () => {
  const { worker, recoverer } = allowed;
  const kinds = {
    // Of a fleet in which another one recovers.
    worker: { options: { recovery: false, retryMinutes: [] }, most: worker },
    'worker with webhooks': {
      options: { recovery: false, retryMinutes: [], webhooks: {} },
      most: 2 * worker,
    },
    recoverer: { options: {}, most: worker + recoverer },
    'recoverer with webhooks': { options: { webhooks: {} }, most: 2 * worker + recoverer },
  } as const;
  const apps = await Promise.all(
    Object.entries(kinds).map(async ([kind, { options, most }]) => ({
      kind,
      most,
      app: await startIdle(options),
    })),
  );
  await pause(settleMs);
  const busy = await startIdle({ recovery: false });
  const [now] = await cluster.run('select extract(epoch from clock_timestamp())::float8 as second');
  const from = Number(now?.['second']);
  // It has a task now and then, each of which is written down for the charts.
  for (let ms = 0; ms < minuteMs; ms += everyMs) {
    await busy.database.pool.query(`insert into tasks (processo) values ('work')`);
    await pause(everyMs);
  }
  await pause(1_000);
  const log = await cluster.log();
  const traffic = apps.map(({ kind, most, app }) => ({ kind, most, ...trafficOf(log, app.database, from) }));
  await Promise.all([...apps.map(({ app }) => app.close()), busy.close()]);
  const written = trafficOf(log, busy.database, from);
  expect(written.statements.filter((name) => name === 'add_history').length).toBeGreaterThan(2);
  expect(written.connections.length, 'for the history').toBeLessThanOrEqual(1);
  for (const { kind, most, statements, connections } of traffic) {
    expect.soft(connections, kind).toEqual([]);
    expect.soft(statements.length, `${kind}: ${statements.join(', ')}`).toBeLessThanOrEqual(most);
    // It does look whether there is something to do.
    expect.soft(statements, kind).toContain('next_due');
  }
}, 180_000);
