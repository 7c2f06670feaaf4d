import { Module } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, Recurring, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { QueueHealthIndicator } from '../../lib/terminus/index.js';
import { runCli } from '../cli/support.js';
import { createQueue, startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';

// A session that listens in an open transaction keeps the queue of notifications from being emptied. When it is full, every commit
// that notifies is refused.
let cluster: Cluster;
let database: ClusterDatabase;
let app: QueueApp;
let admin: QueueAdmin;
let listener: Client;
const warnings: string[] = [];
let often = 0;
let ownRings = 0;

@Module({ imports: [TerminusModule.forRoot({ logger: false })], providers: [QueueHealthIndicator] })
class HealthModule {}

class Handlers {
  @TaskHandler('nothing', { maxAttempts: 1 })
  nothing(): void {}
  @TaskHandler('often')
  @Recurring('often', { every: 1_000, missed: 'skip' })
  often(): void {
    often += 1;
  }
  @Subscriber('auditor', { topic: 'audited' })
  audited(): void {}
  @TaskHandler('until cancelled', { maxAttempts: 1 })
  async untilCancelled(_: unknown, { signal }: TaskContext): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
  }
  @TaskHandler('by the queue', { maxAttempts: 1 })
  async byTheQueue(_: unknown, { db }: TaskContext): Promise<void> {
    await app.queue.insertTask({ topic: 'nothing', origin: 'by the queue' }, { tx: db });
  }
  @TaskHandler('by SQL', { maxAttempts: 1 })
  async bySql(_: unknown, { db }: TaskContext): Promise<void> {
    await db.query('set transaction isolation level serializable');
    await db.query(`insert into tasks (processo, origem) values ('nothing', 'by SQL')`);
  }
  @TaskHandler('in a group', { maxAttempts: 1, grouped: true })
  async inGroup(_: unknown, { db }: TaskContext): Promise<void> {
    await app.queue.insertTask({ topic: 'nothing', origin: 'in a group' }, { tx: db });
  }
  @TaskHandler('own ring', { maxAttempts: 1 })
  async ownRing(_: unknown, { db }: TaskContext): Promise<void> {
    ownRings += 1;
    await db.query(`select pg_notify('own', 'ring')`);
  }
}

const full = '54000';

beforeAll(async () => {
  // As few as there may be: half a megabyte.
  cluster = await startCluster({ settings: { max_notify_queue_pages: '64' } });
  database = await cluster.createDatabase();
  const options = {
    handlers: [Handlers],
    imports: [{ module: HealthModule }],
    pollIntervalMs: 200,
    recovery: { intervalMs: 200, confirmMs: 100, graceMs: 0 },
  };
  app = await startApp(database, { ...options, autoStart: false });
  app.events.on('warning', ({ message }) => warnings.push(message));
  await app.worker.start();
  admin = app.app.get(QueueAdmin);
});

afterAll(async () => {
  await listener?.end().catch(() => undefined);
  await app?.close();
  await cluster?.stop();
});

beforeEach(async () => {
  if (listener) return;
  listener = new Client({ connectionString: database.url });
  await listener.connect();
  await listener.query('listen anything');
  await listener.query('begin; select 1');
  await fill();
});

/** Notifies until that is refused. */
async function fill(): Promise<void> {
  for (let n = 0; ; n += 1) {
    const refused = await database.pool
      .query(
        `select pg_notify('anything', $1::text || '-' || m || repeat('x', 7000)) from generate_series(1, 10) m`,
        [n],
      )
      .then(() => false)
      .catch((error: { code?: string }) => {
        if (error.code !== full) throw error;
        return true;
      });
    if (refused) return;
  }
}

const status = async (id: string): Promise<unknown> =>
  (await database.pool.query('select status from tasks where id = $1', [id])).rows[0]?.status;

const has = (id: string, wanted: string): Promise<boolean> =>
  until(async () => (await status(id)) === wanted, `${id} to be ${wanted}`);

/** Inserts a row by SQL, without a ring. */
async function insertQuietly(columns: string, values: string): Promise<string> {
  const client = await database.pool.connect();
  try {
    await client.query(`begin; set local tarefa.quiet = 'on'`);
    const { rows } = await client.query<{ id: string }>(
      `insert into tasks (${columns}) values (${values}) returning id`,
    );
    await client.query('commit');
    return String(rows[0]?.id);
  } finally {
    client.release();
  }
}

test('what the library inserts is inserted without its ring, and runs', async () => {
  const ids = [await app.queue.insertTask({ topic: 'nothing' })];
  ids.push(...(await app.queue.insertTasks([{ topic: 'nothing' }, { topic: 'nothing' }])));
  ids.push(
    ...(await Promise.all(Array.from({ length: 5 }, () => app.queue.insertTask({ topic: 'nothing' })))),
  );
  for (const id of ids) expect(await has(id, 'sucesso')).toBe(true);
});

test('a lost worker is recovered though its look cannot be announced', async () => {
  // Another worker runs, so that the look is to be announced.
  const other = await startApp(database, { handlers: [Handlers], pollIntervalMs: 200, recovery: false });
  const id = await insertQuietly('processo, status, executor, reserva', `'nothing', 'processando', 4711, 1`);
  expect(await has(id, 'falha')).toBe(true);
  await other.close();
});

test('what operators do is done without its ring', async () => {
  const failed = await insertQuietly('processo, status', `'nothing', 'falha'`);
  await admin.retry(failed);
  await until(async () => {
    const { rows } = await database.pool.query('select from tasks where id_inicial = $1 and status = $2', [
      failed,
      'sucesso',
    ]);
    return rows.length === 1;
  }, 'the retry to run');
  await admin.pause({ topic: 'nothing' });
  await admin.resume({ topic: 'nothing' });
  const later = await app.queue.insertTask({ topic: 'nothing', delayMs: 3_600_000 });
  await admin.runNow(later);
  expect(await has(later, 'sucesso')).toBe(true);
  const waiting = await app.queue.insertTask({ topic: 'nothing', delayMs: 3_600_000 });
  expect(await admin.bury(waiting, 'no')).toEqual(expect.any(String));
  const many = await insertQuietly('processo, status', `'nothing', 'falha'`);
  const bulk = admin.bulk('retry');
  let done = 0;
  for await (const some of bulk.run(await bulk.plan({ ids: [many] }))) done += some;
  expect(done).toBe(1);
});

test('what recurs is inserted without its ring, and runs', async () => {
  const before = often;
  // The first may have been inserted before the queue was full.
  await until(async () => often > before + 1, 'two more');
  expect(often).toBeGreaterThan(before);
});

test('a running task is cancelled without a ring', async () => {
  const id = await app.queue.insertTask({ topic: 'until cancelled' });
  expect(await has(id, 'processando')).toBe(true);
  await admin.cancel(id);
  expect(await has(id, 'falha')).toBe(true);
  expect((await admin.find(id)).current.status).toBe('cancelled');
});

test('what a trigger inserts into another queue stops neither a publication nor its delivery', async () => {
  await createQueue(database, { queue: 'audits' });
  await database.pool.query(`
    create function audit() returns trigger language plpgsql as $$ begin
      insert into audits (processo) values ('audit'); return new; end $$;
    create trigger audit after insert or update on tasks for each row when (new.processo = 'audited') execute function audit()`);
  await app.queue.insertTaskPubSub({ topic: 'audited' });
  const ended = async (): Promise<boolean> => {
    const { rows } = await database.pool.query(
      `select from tasks where processo = 'audited' and status = 'sucesso'`,
    );
    return rows.length === 2;
  };
  expect(await until(ended, 'both have ended')).toBe(true);
});

test.each(['by the queue', 'by SQL', 'in a group'])(
  'what a handler inserts in its transaction, %s, is inserted without a ring, and uses up no attempt',
  async (topic) => {
    const id = await app.queue.insertTask({ topic });
    expect(await has(id, 'sucesso')).toBe(true);
    const made = async (): Promise<unknown[]> =>
      (await database.pool.query('select status from tasks where origem = $1', [topic])).rows;
    await until(
      async () => isDeepStrictEqual(await made(), [{ status: 'sucesso' }]),
      'what it inserted ran once',
    );
  },
);

test('a notification of a handler’s own is refused again without those of the library, and fails the attempt', async () => {
  const id = await app.queue.insertTask({ topic: 'own ring' });
  expect(await has(id, 'falha')).toBe(true);
  expect(ownRings).toBe(2);
});

test('an import of many is committed', async () => {
  const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks', QUEUE_NAME: 'tasks' };
  const input = Readable.from([Buffer.from('{"topic":"nothing"}\n{"topic":"nothing"}\n')]);
  expect(await runCli(['insert', '--file', '-'], { env, input })).toMatchObject({ code: 0 });
});

test('how full it is is told by a warning, by the command line, by health and by QueueAdmin', async () => {
  expect(await admin.notifyUsage()).toBeGreaterThan(0.9);
  const service = app.app.get(HealthCheckService, { strict: false });
  const indicator = app.app.get(QueueHealthIndicator, { strict: false });
  const { details } = await service.check([() => indicator.isHealthy('queue')]);
  expect(details['queue']).toMatchObject({ status: 'up', notifyUsage: expect.any(Number) as unknown });
  expect(details['queue']?.['notifyUsage']).toBeGreaterThan(0.9);
  const env = { DATABASE_URL: database.url, QUEUE_TABLE: 'tasks' };
  expect((await runCli(['status'], { env })).stdout).toMatch(/notification queue is \d+% full/);
  await until(
    async () => warnings.some((message) => /queue of notifications is \d+% full/.test(message)),
    'a warning',
  );
});

test("a user's own commit is refused as long as the listener stays, and not for longer", async () => {
  const insert = (): Promise<unknown> =>
    database.pool.query(`insert into tasks (processo) values ('nothing')`);
  await expect(insert()).rejects.toMatchObject({ code: full });
  await listener.end();
  // Asked by the looks for lost workers: the server empties it only then.
  await until(
    () =>
      insert().then(
        () => true,
        () => false,
      ),
    'commits to go through',
  );
});
