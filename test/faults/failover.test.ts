import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { queueTables } from '../../lib/storage/postgres/identifiers.js';
import { queueStatements } from '../../lib/storage/postgres/statements.js';
import { holdTimers } from '../support/held-timers.js';
import { startApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { startSwitch, type AddressSwitch } from './kit/address-switch.js';
import { startCluster, type Cluster } from './kit/cluster.js';
import { promote, startStandby } from './kit/standby.js';

let primary: Cluster;
let standby: Cluster;
let address: AddressSwitch;

beforeEach(async () => {
  primary = await startCluster();
  standby = await startStandby(primary);
  address = await startSwitch(primary.port);
});

afterEach(async () => {
  address.close();
  await Promise.all([standby.stop(), primary.stop()]);
});

/** The servers swap roles as an operator has them do, and nobody's connection is cut. */
async function failOver(): Promise<void> {
  await primary.settings({ default_transaction_read_only: 'on' });
  await promote(standby, primary);
  address.target = standby.port;
}

test('servers that swap roles and cut no connection cost no worker its place, and no task a second start', async () => {
  const database = await primary.createDatabase();
  const place = new URL(database.url);
  const through = new URL(place);
  through.port = String(address.port);
  const finish = deferred();
  const started: string[] = [];
  class Handlers {
    @TaskHandler('slow')
    async slow(): Promise<void> {
      started.push('slow');
      await finish.promise;
    }
    @TaskHandler('quick')
    quick(): void {
      started.push('quick');
    }
  }
  // No poll comes in time.
  const options = {
    handlers: [Handlers],
    recovery: { intervalMs: 100, confirmMs: 2_000, graceMs: 2_000 },
    shutdownTimeoutMs: 1_000,
  };
  const one = await startApp({ ...database, url: through.href }, options);
  const other = await startApp({ ...database, url: through.href }, options);
  const lost: string[] = [];
  for (const { events } of [one, other])
    events.on('task.recovered', ({ workerId }) => void lost.push(workerId));
  await one.queue.insertTask({ topic: 'slow' });
  await until(async () => started.includes('slow'), 'the slow task runs');
  const admin = one.app.get(QueueAdmin);
  expect(await admin.find('1')).toMatchObject({ current: { topic: 'slow' } });

  await failOver();
  place.port = String(standby.port);
  const client = new Client({ connectionString: place.href });
  await client.connect();
  try {
    const locks = async (): Promise<unknown> =>
      (await client.query(`select from pg_locks where locktype = 'advisory' and granted`)).rowCount;
    // The session of a process is shared by its queues; each worker has a lock.
    await until(async () => (await locks()) === 2, 'both workers hold their places on the new server');
    await client.query(`insert into tasks (processo) values ('quick')`);
    await until(async () => started.includes('quick'), 'a new task starts');
    finish.resolve();
    const rows = async (): Promise<Record<string, unknown>[]> =>
      (await client.query('select processo, status, tentativa from tasks order by id')).rows;
    await until(async () => (await rows()).every(({ status }) => status === 'sucesso'), 'both have ended');
    expect(await rows()).toMatchObject([
      { processo: 'slow', tentativa: 1 },
      { processo: 'quick', tentativa: 1 },
    ]);
    expect(started).toEqual(['slow', 'quick']);
    expect(lost).toEqual([]);
    // What people look at is the new server, too.
    expect(await admin.find('1')).toMatchObject({ current: { status: 'succeeded' } });
    await one.queue.insertTask({ topic: 'quick' });
  } finally {
    await client.end();
    await Promise.all([one.close(), other.close()]);
  }
}, 60_000);

test('a process without a worker leaves the old server as well: at a refused insert, or within a minute when it only reads', async () => {
  const database = await primary.createDatabase();
  const place = new URL(database.url);
  place.port = String(address.port);
  const timers = holdTimers((ms) => ms === 60_000);
  const options = { worker: false } as const;
  const writer = await startApp({ ...database, url: place.href }, options);
  const reader = await startApp({ ...database, url: place.href }, options);
  // What counts and what people look at come by different connections.
  const topics = async ({ app }: typeof reader): Promise<unknown> => {
    const admin = app.get(QueueAdmin);
    const { counts } = await admin.status();
    return [await admin.counts(), counts].map((all) => all.map(({ topic }) => String(topic)).sort());
  };
  try {
    await writer.queue.insertTask({ topic: 'old' });
    for (const one of [writer, reader]) expect(await topics(one)).toEqual([['old'], ['old']]);

    await failOver();
    await expect(writer.queue.insertTask({ topic: 'refused' })).rejects.toMatchObject({ code: '25006' });
    await writer.queue.insertTask({ topic: 'new' });
    const all = ['new', 'old'];
    expect(await topics(writer)).toEqual([all, all]);

    expect(await topics(reader)).toEqual([['old'], ['old']]);
    for (let left = timers.waiting; left > 0; left -= 1) timers.ringFirst();
    expect(await topics(reader)).toEqual([all, all]);
  } finally {
    await Promise.all([writer.close(), reader.close()]);
  }
}, 60_000);

test('a server that only reads refuses a start with the reason, and the looks of idle workers, so that none goes on asking it', async () => {
  const database = await primary.createDatabase();
  const { close } = await startApp(database, { worker: false });
  await close();
  await primary.settings({ default_transaction_read_only: 'on' });
  await expect(startApp(database)).rejects.toMatchObject({
    code: 'DATABASE_REFUSED',
    message: expect.stringContaining('the server is read-only: it is a standby') as unknown,
  });
  const { text } = queueStatements(queueTables('public', 'tasks', undefined)).findMissing;
  const look = database.pool.query(text, [[], 'locks', 0, 1, null, null]);
  await expect(look).rejects.toMatchObject({ code: '25006' });
});

test('a session connection to another database is refused at start: its locks would be seen by nobody', async () => {
  const [main, other] = await Promise.all([primary.createDatabase(), primary.createDatabase()]);
  await expect(startApp(main, { sessionConnection: other.url })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('lead to different databases') as unknown,
  });
});
