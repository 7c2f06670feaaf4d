import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { QueueAdmin } from '../../../lib/index.js';
import { assembleCore, type QueueCore } from '../../../lib/assembly/core.js';
import { QueueEvents } from '../../../lib/events.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import type { Claim, WorkerId } from '../../../lib/storage/attempt.js';
import { failureOf } from '../../support/queue-storage.js';
import { useDatabase } from '../../support/database.js';
import { startApp, type QueueApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';

// A partitioned table has no unique index but its key: a second next attempt, dead chain or delivery is prevented by
// the statements alone. So the same claims are settled by several connections at once, again and again.
const layout = { partitionIds: 50 };
const tasks = 60;
const rounds = 5;

const database = await useDatabase();
let cores: QueueCore[];
let workerId: WorkerId;

beforeAll(async () => {
  const options = resolveOptions({ connection: database.url, queue: 'tasks', layout }, {});
  cores = [];
  for (let index = 0; index < 3; index += 1) {
    cores.push(await assembleCore(options, new QueueEvents()));
  }
  workerId = await storageOf(0).workers.register({
    host: 'test',
    pid: 1,
    version: '0',
    concurrency: 1,
    routes: [],
    deadRoutes: [],
  });
  await database.pool.query(
    `insert into tasks_subscriber (id, processo) select 's' || n, 'news' from generate_series(1, 3) n`,
  );
});

afterEach(() => database.pool.query('truncate tasks'));

afterAll(() => Promise.all(cores.map((core) => core.close())));

function storageOf(index: number): QueueCore['database'] {
  const core = cores[index];
  if (!core) throw new Error('no such core');
  return core.database;
}

/** Rows that the worker holds, over several partitions. */
async function hold(columns = ''): Promise<readonly Claim[]> {
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into tasks (processo, payload, status, executor, reserva${columns && ', pub_sub'})
     select 'news', '{}', 'processando', $1::bigint, 1${columns} from generate_series(1, $2::int) returning id`,
    [workerId, tasks],
  );
  return rows.map(({ id }) => ({ id, reservation: 1 }));
}

/** All connections do it at once, each in an order of its own. */
async function all(
  work: (queue: QueueCore['database'], claims: readonly Claim[]) => Promise<unknown>,
  claims: readonly Claim[],
) {
  const orders = [claims, claims.toReversed(), [...claims.slice(tasks / 2), ...claims.slice(0, tasks / 2)]];
  await Promise.all(orders.map((order, index) => work(storageOf(index), order)));
}

async function countBy(column: string, where = 'true'): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.pool.query<{ of: string; n: number }>(
    `select ${column}::text as of, count(*)::int as n from tasks where ${column} is not null and ${where} group by 1`,
  );
  return new Map(rows.map(({ of, n }) => [of, n]));
}

const once = (claims: readonly Claim[], times = 1): ReadonlyMap<string, number> =>
  new Map(claims.map(({ id }) => [id, times]));

describe.each(Array.from({ length: rounds }, (_, round) => [round]))('round %i', () => {
  test('an attempt that several fail has one next attempt', async () => {
    const claims = await hold();
    await all(
      (queue, order) => queue.attempts.failMany(order.map(({ id }) => failureOf(id, workerId))),
      claims,
    );
    expect(await countBy('id_anterior')).toEqual(once(claims));
  });

  test('a chain that several bury has one dead chain', async () => {
    const claims = await hold();
    const failures = (order: readonly Claim[]) =>
      order.map(({ id }) => failureOf(id, workerId, { next: { kind: 'never' } }));
    await all((queue, order) => queue.attempts.failMany(failures(order)), claims);
    expect(await countBy('live_id')).toEqual(once(claims));
  });

  test('a publication that several deliver has one delivery for each subscription', async () => {
    const claims = await hold(', true');
    await all((queue, order) => queue.attempts.fanOutMany(workerId, order), claims);
    expect(await countBy('publication_id')).toEqual(once(claims, 3));
  });
});

test('a task that several start again, and that all wait for, is started once', async () => {
  const apps: QueueApp[] = [];
  for (let index = 0; index < 3; index += 1) apps.push(await startApp(database, { layout, worker: false }));
  const claims = await hold();
  await storageOf(0).attempts.failMany(claims.map(({ id }) => failureOf(id, workerId, { maxAttempts: 1 })));
  const [{ id }] = claims as [Claim];
  const retried = await withClient(database, async (other) => {
    await other.query('begin');
    await other.query('select from tasks where id = $1 for no key update', [id]);
    const retries = apps.map(({ app }) =>
      app
        .get(QueueAdmin)
        .retry(id)
        .catch((error: unknown) => error),
    );
    await until(async () => {
      const { rows } = await database.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%retry_task%'`,
      );
      return rows.length === apps.length;
    }, 'all wait');
    await other.query('commit');
    return Promise.all(retries);
  });
  expect(retried.filter((result) => result instanceof Error)).toHaveLength(apps.length - 1);
  expect(await countBy('id_anterior')).toEqual(new Map([[id, 1]]));
  await Promise.all(apps.map((app) => app.close()));
});
