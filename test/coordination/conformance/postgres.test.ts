import { expect, onTestFinished, test } from 'vitest';
import { LeaseLiveness } from '../../../lib/coordination/lease/lease-liveness.js';
import { connectionConfig } from '../../../lib/storage/postgres/connections/connection-config.js';
import { leaseThread } from '../../../lib/storage/postgres/connections/lease-orders.js';
import { postgresOf } from '../../storage/conformance/open-postgres.js';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { usePostgresQueues } from './open-postgres.js';
import type { OpenLiveness } from './opened.js';
import { until } from '../../support/waiting.js';
import { run } from './run.js';

const { database, core, openBells, openSessions } = await usePostgresQueues();

const openLeases: OpenLiveness = async () => {
  await database.pool.query('truncate tasks_worker');
  const { workers } = core(0).database;
  const { workers: table, queue } = postgresOf(core(0)).schema.tables;
  const thread = leaseThread({ config: connectionConfig(database.url), workers: table, queue });
  const lease = (): LeaseLiveness => new LeaseLiveness(thread, workers, 0);
  return { one: lease(), other: lease(), workers };
};

run('bell', () => exerciseBell(openBells));
run('liveness of a session', () => exerciseLiveness(openSessions));
run('release of a session', () => exerciseRelease(openSessions));
run('liveness by lease', () => exerciseLiveness(openLeases));

test('a worker that lives by a lease is not missing to one that lives by a session, and the other way round', async () => {
  const { one: session, workers } = await openSessions();
  const ids = [];
  for (let count = 0; count < 2; count += 1) {
    const description = { host: 'h', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };
    ids.push(await workers.register(description));
  }
  const { workers: table, queue } = postgresOf(core(0)).schema.tables;
  const thread = leaseThread({ config: connectionConfig(database.url), workers: table, queue });
  const lease = new LeaseLiveness(thread, workers, 0);
  const ignore = { lost: () => undefined, restored: () => undefined };
  await session.hold(ids[0] ?? '', ignore);
  await lease.hold(ids[1] ?? '', ignore);
  expect((await session.findMissing([]))?.missing).toEqual([]);
  expect((await lease.findMissing([]))?.missing).toEqual([]);
  await Promise.all([session.release(), lease.release()]);
});

test('a password that is a function is asked for before each connection of a lease', async () => {
  const { hostname: host, port, username: user, password, pathname } = new URL(database.url);
  let asked = 0;
  const config = {
    host,
    port: Number(port),
    user,
    database: pathname.slice(1),
    password: () => {
      asked += 1;
      return decodeURIComponent(password);
    },
    application_name: 'lease by function',
  };
  const { workers } = core(0).database;
  const { workers: table, queue } = postgresOf(core(0)).schema.tables;
  const lease = new LeaseLiveness(leaseThread({ config, workers: table, queue }), workers, 0);
  onTestFinished(() => lease.release());
  const description = { host: 'h', pid: 1, version: '0', concurrency: 1, routes: [], deadRoutes: [] };
  await lease.hold(await workers.register(description), { lost: () => undefined, restored: () => undefined });
  const session = async (after?: number): Promise<number | undefined> => {
    const { rows } = await database.pool.query<{ pid: number }>(
      'select pid from pg_stat_activity where application_name = $1 and pid is distinct from $2',
      [config.application_name, after],
    );
    return rows[0]?.pid;
  };
  const first = await until(() => session(), 'the first connection');
  expect(asked).toBe(1);
  await database.pool.query('select pg_terminate_backend($1)', [first]);
  await until(() => session(first), 'the next connection');
  expect(asked).toBe(2);
});

test('an option that no thread can be given is refused by its name', () => {
  const { workers } = core(0).database;
  const refused = (config: object) => () =>
    new LeaseLiveness(leaseThread({ config, workers: 'w', queue: 'q' }), workers, 0);
  expect(refused({ ssl: { ca: 'text', checkServerIdentity: () => undefined } })).toThrow(
    'connection.ssl.checkServerIdentity cannot be passed to a thread',
  );
  expect(refused({ stream: () => undefined })).toThrow('connection.stream cannot be passed to a thread');
  expect(refused({ types: { getTypeParser: () => String }, onConnect: () => undefined })).not.toThrow();
});
