import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { startCluster, type Cluster, type ClusterDatabase } from '../faults/kit/cluster.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

/** What the design allows a worker that has nothing to do to send in a minute, and what the one that recovers may add. */
const allowed = { worker: 8, recoverer: 12 };
const minuteMs = 60_000;
const everyMs = 5_000;
/** Until the history of what has ended is written down, and a pool has closed the connection that it used for that. */
const settleMs = 45_000;
/** By the clock, from one moment to the next; what is asked in between is answered in no time. */
const stepMs = 250;

/** They run once in every minute that is looked at; by default they do in every fifth. */
const everyMinute = Array.from({ length: 60 }, (_, minute) => minute);

/** What the test has written to the log. */
const marks = ['the minute begins', 'the minute ends'] as const;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    settings: { log_statement: 'all', log_connections: 'on', log_line_prefix: '%d|' },
  });
});

afterAll(() => cluster.stop());

// What happens in a minute is the same on every machine by a clock that waits for each answer.
const query = vi.spyOn(Client.prototype, 'query');
beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
  });
});
afterEach(() => vi.useRealTimers());

/** Lets so much time pass for all timers, cron jobs and clocks of this process. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += stepMs) {
    await vi.advanceTimersByTimeAsync(stepMs);
    do await pause(5);
    while (!isAnswered());
  }
}

/** True when no connection of this process waits for an answer. */
function isAnswered(): boolean {
  const clients = query.mock.contexts as unknown as { readyForQuery: boolean | null; _ending: boolean }[];
  return clients.every(({ readyForQuery, _ending: isEnding }) => readyForQuery === true || isEnding);
}

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
  await app.queue.insertTask({ topic: 'work' });
  return { ...app, database };
}

/** What the server's log has between the beginning and the end of the minute; events begin with a database. */
function trafficOf(log: string, { url }: ClusterDatabase): Traffic {
  const statements: string[] = [];
  const connections: string[] = [];
  const database = new URL(url).pathname.slice(1);
  const lines = log.split('\n');
  const [from, to] = marks.map((mark) => lines.findIndex((line) => line.includes(mark)));
  for (const line of lines.slice(from, to)) {
    const [name, event = ''] = line.split('|', 2);
    if (name !== database) continue;
    const [, sent] = /LOG: {2}(?:statement|execute [^:]*): (.*)$/.exec(event) ?? [];
    if (sent !== undefined) statements.push(/^-- name: (\w+)/.exec(sent)?.[1] ?? sent);
    if (event.includes('connection authorized') && event.includes('application_name=tarefa '))
      connections.push(event);
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
  const busy = await startIdle({ recovery: false });
  await pass(settleMs);
  await cluster.run(`select '${marks[0]}'`);
  // It has a task now and then, each of which is written down for the charts.
  for (let ms = 0; ms < minuteMs; ms += everyMs) {
    await busy.database.pool.query(`insert into tasks (processo) values ('work')`);
    await pass(everyMs);
  }
  await cluster.run(`select '${marks[1]}'`);
  const log = await until(async () => {
    const written = await cluster.log();
    return written.includes(marks[1]) && written;
  }, 'the log has the end of the minute');
  const traffic = apps.map(({ kind, most, app }) => ({ kind, most, ...trafficOf(log, app.database) }));
  await Promise.all([...apps.map(({ app }) => app.close()), busy.close()]);
  const written = trafficOf(log, busy.database);
  expect(written.statements.filter((name) => name === 'add_history').length).toBeGreaterThan(2);
  expect(written.connections.length, 'for the history').toBeLessThanOrEqual(1);
  for (const { kind, most, statements, connections } of traffic) {
    expect.soft(connections, kind).toEqual([]);
    expect.soft(statements.length, `${kind}: ${statements.join(', ')}`).toBeLessThanOrEqual(most);
    // It does look whether there is something to do.
    expect.soft(statements, kind).toContain('next_due');
  }
}, 60_000);
