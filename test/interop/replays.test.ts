import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { getQueueToken, QueueAdmin } from '../../lib/index.js';
import { planAdoption } from '../../lib/storage/postgres/adoption/adopt.js';
import { SchemaSession } from '../../lib/storage/postgres/migration/schema-session.js';
import { createNsjTable } from '../storage/postgres/nsj-table.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { NsjWorker } from './nsj-worker.js';

const database = await useDatabase();
const { pool } = database;

interface Attempt {
  readonly id: string;
  readonly tentativa: number;
  readonly status: string;
  readonly dead: boolean;
  readonly live_id: string | null;
  readonly rodada: number;
}

const fails = (): Promise<string> => Promise.reject(new Error('no'));

/** A queue of this library, its administration, and a worker of nsj-queue-lib with two attempts. */
async function startQueue(handler = fails) {
  const table = `fila_${randomBytes(4).toString('hex')}`;
  const app = await startApp(database, { queue: table, interop: 'nsj', worker: false });
  const nsj = await NsjWorker.start(database.url, handler, { table, maxAttempts: 2 });
  const insert = async (columns = 'processo', values = `'greet'`): Promise<string> => {
    const { rows } = await pool.query<{ id: string }>(
      `insert into ${table} (${columns}) values (${values}) returning id`,
    );
    return rows[0]?.id ?? '';
  };
  /** Both of its attempts, or what there is. */
  const runAll = async (): Promise<void> => {
    for (let round = 0; round < 2; round += 1) {
      await nsj.promote();
      await nsj.drain();
    }
  };
  const attempts = async (): Promise<readonly Attempt[]> =>
    (
      await pool.query<Attempt>(
        `select id, tentativa, status, dead, live_id, rodada from ${table} order by id`,
      )
    ).rows;
  const close = async (): Promise<void> => {
    await nsj.stop();
    await app.close();
  };
  const admin = app.app.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin));
  return { table, admin, nsj, insert, runAll, attempts, close };
}

test('a replay goes on under a worker of nsj-queue-lib: next attempt and dead task are of its round', async () => {
  const { admin, nsj, insert, runAll, attempts, close } = await startQueue();
  const id = await insert();
  await nsj.drain();
  await nsj.promote();
  await nsj.drain();
  expect(await attempts()).toMatchObject([
    { id, tentativa: 1, rodada: 0, status: 'falha' },
    { tentativa: 2, rodada: 0, status: 'falha' },
    { dead: true, live_id: id, rodada: 0, status: 'pendente' },
  ]);
  await admin.retry(id);
  await runAll();
  const live = (await attempts()).filter(({ dead }) => !dead);
  expect(live.map(({ tentativa, rodada, status }) => `${tentativa} of ${rodada}: ${status}`)).toEqual([
    '1 of 0: falha',
    '2 of 0: falha',
    '1 of 1: falha',
    '2 of 1: falha',
  ]);
  const chains = (await attempts()).filter((row) => row.live_id === id && row.tentativa === 1);
  expect(chains.map(({ rodada }) => rodada)).toEqual([0, 1]);
  await close();
});

test('a replay that a worker of nsj-queue-lib has lost goes on under its retry job', async () => {
  const { table, admin, nsj, insert, attempts, close, runAll } = await startQueue();
  const id = await insert();
  await runAll();
  const replay = await admin.retry(id);
  await pool.query(`update ${table} set status = 'processando' where id = $1`, [replay]);
  expect(await nsj.retryCrashed()).toEqual([replay]);
  expect((await attempts()).at(-1)).toMatchObject({ tentativa: 2, rodada: 1, status: 'agendada' });
  await close();
});

test('a dead delivery that fails starts one dead chain after another under nsj-queue-lib', async () => {
  const { table, nsj, insert, runAll, attempts, close } = await startQueue();
  await pool.query(`insert into ${table}_subscriber (id, processo) values ('stock', 'order')`);
  await insert('processo, payload, pub_sub', `'order', '{}', true`);
  for (let chain = 0; chain < 4; chain += 1) await runAll();
  expect(nsj.ran.length).toBeGreaterThan(6);
  const dead = (await attempts()).filter((row) => row.dead && row.tentativa === 1);
  expect(dead.length).toBeGreaterThanOrEqual(3);
  // Each is of the one before.
  expect(dead.slice(1).map((row) => row.live_id)).toEqual(dead.slice(0, -1).map((row) => row.id));
  await close();
});

test('adopt takes dead chains of dead tasks for what they are, and not for copies', async () => {
  const table = `fila_${randomBytes(4).toString('hex')}`;
  await createNsjTable(pool, table);
  await pool.query(
    `insert into ${table}_subscriber (id, processo) values ('stock', 'order'), ('mail', 'order')`,
  );
  await pool.query(
    `insert into ${table} (processo, payload, pub_sub) values ('order', '{}', true), ('greet', '{}', false)`,
  );
  const nsj = await NsjWorker.start(database.url, fails, { table, maxAttempts: 2 });
  for (let round = 0; round < 10; round += 1) {
    await nsj.promote();
    await nsj.drain();
  }
  await nsj.stop();
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from ${table} where dead and id_anterior is null`,
  );
  expect(rows[0]?.n).toBeGreaterThanOrEqual(9);
  const session = await SchemaSession.open(pool);
  const { findings } = await planAdoption(session, {
    names: {
      table: { schema: 'public', table },
      subscriptionTable: { schema: 'public', table: `${table}_subscriber` },
      channel: table,
      webhooks: false,
    },
    channelIsGiven: false,
    maxPayloadBytes: 1_048_576,
    timeZone: undefined,
    dropOldIndexes: false,
    giveBack: false,
  });
  await session.close();
  expect(findings.filter(({ kind }) => kind.startsWith('duplicate'))).toEqual([]);
});
