import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Child } from '../support/processes.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { connectionLines } from './kit/connection-lines.js';
import { startFaultWorker } from './kit/fault-worker.js';
import { drained } from './kit/outcome.js';

let cluster: Cluster;
let database: ClusterDatabase;
let worker: Child;
let producer: QueueApp;

beforeAll(async () => {
  cluster = await startCluster();
});

beforeEach(async () => {
  database = await cluster.createDatabase();
  await createEffectTable(database);
  worker = await startFaultWorker(database, { retryIntervalMinutes: 0 });
  producer = await startApp(database, { worker: false });
});

afterEach(async () => {
  await producer.close();
  await worker.kill('SIGKILL');
  await database.drop();
});

afterAll(() => cluster.stop());

/** Inserts one task after the other, whatever happens, until it is stopped; returns the acknowledged ones. */
function produce(): () => Promise<readonly string[]> {
  const acknowledged: string[] = [];
  const state = { stopped: false };
  const producing = (async () => {
    while (!state.stopped) {
      const topic = acknowledged.length % 3 === 0 ? 'batch' : 'effect';
      const payload = { ms: acknowledged.length % 20 };
      await producer.queue.insertTask({ topic, payload }).then(
        (id) => acknowledged.push(id),
        () => pause(20),
      );
      await pause(1);
    }
  })();
  return async () => {
    state.stopped = true;
    await producing;
    return acknowledged;
  };
}

const ends = {
  'stopped fast': () => cluster.shutDown('fast'),
  'stopped immediately': () => cluster.shutDown('immediate'),
  killed: () => cluster.crash(),
};

test.each(['stopped fast', 'stopped immediately', 'killed'] as const)(
  'the server is %s while tasks run, and started again: every acknowledged task is executed, once',
  async (how) => {
    const stop = produce();
    for (const round of [1, 2]) {
      const done = async (): Promise<number> =>
        (await database.pool.query(`select from tasks where status = 'sucesso'`)).rowCount ?? 0;
      await until(async () => (await done()) > round * 150, 'the worker is at work');
      await ends[how]();
      await until(async () => linesOf('session').length >= 2 * round - 1, 'the loss is noticed');
      await pause(300);
      await cluster.start();
      await until(async () => linesOf('session').length >= 2 * round, 'the worker is back');
    }
    const acknowledged = await stop();
    expect(acknowledged.length).toBeGreaterThan(300);

    const outcome = await drained(database.pool);
    expect(outcome).toMatchObject({ failed: 0, doubled: 0, missing: 0, phantoms: 0 });
    const executed = await database.pool.query(
      `select from tasks where status = 'sucesso' and coalesce(id_inicial, id) = any($1::bigint[])`,
      [acknowledged],
    );
    expect(executed.rowCount).toBe(acknowledged.length);

    // It is the same process, it has said each thing once, and it ends as always.
    expect(linesOf('session')).toEqual(['lost', 'back', 'lost', 'back']);
    expect(linesOf('control')).toEqual(['lost', 'back', 'lost', 'back']);
    expect(lines().filter((line) => line.includes('hit a database error'))).toEqual([]);
    worker.send('close');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  },
  60_000,
);

function lines(): readonly string[] {
  return worker.messages.filter(({ type }) => type === 'log').map(({ text }) => String(text));
}

const linesOf = (connection: string) => connectionLines(lines(), connection);
