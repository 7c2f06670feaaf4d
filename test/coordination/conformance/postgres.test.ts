import { expect, test } from 'vitest';
import { LeaseLiveness } from '../../../lib/coordination/lease/lease-liveness.js';
import { connectionConfig } from '../../../lib/storage/postgres/connections/connection-config.js';
import { leaseThread } from '../../../lib/storage/postgres/connections/lease-orders.js';
import { postgresOf } from '../../storage/conformance/open-postgres.js';
import { exerciseBell } from './bell.js';
import { exerciseLiveness, exerciseRelease } from './liveness.js';
import { usePostgresQueues } from './open-postgres.js';
import type { OpenLiveness } from './opened.js';
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
