import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, expect, test } from 'vitest';
import { explainTakenId, idWarnings } from '../../../lib/storage/postgres/schema/id-sequence.js';
import { useDatabase } from '../../support/database.js';
import { withClient } from '../../support/with-client.js';
import { createQueue } from '../../support/queue-app.js';

const database = await useDatabase();
const { pool } = database;
const [user, reader] = ['user', 'reader'].map((name) => `${name}_${randomBytes(6).toString('hex')}`) as [
  string,
  string,
];
const tables = {
  queue: '"public"."tasks"',
  qualifiedName: 'public.tasks',
  schema: 'public',
  table: 'tasks',
};

await createQueue(database);
await pool.query(
  `create role ${user}; create role ${reader}; grant usage on schema public to ${user}, ${reader};
   grant select on tasks to ${user}; grant usage on sequence tasks_id_seq to ${user}, ${reader}`,
);

afterEach(() =>
  pool.query(
    'truncate tasks; alter sequence tasks_id_seq increment by 1; alter sequence tasks_id_seq restart',
  ),
);

afterAll(() => pool.query(`drop owned by ${user}, ${reader}; drop role ${user}, ${reader}`));

/** What a start says to that role. */
const warnings = (role?: string) =>
  withClient(database, async (client) => {
    if (role !== undefined) await client.query(`set role ${role}`);
    return idWarnings(async (work) => {
      await client.query('begin');
      try {
        return await work(client);
      } finally {
        await client.query('rollback');
      }
    }, tables);
  });

const insert = (id: number | string = 'default') =>
  pool.query(`insert into tasks (id, processo, status) values (${id}, 'old', 'sucesso')`);

test('a queue without rows, and one whose ids come from the sequence, are as they should be', async () => {
  expect(await warnings()).toEqual([]);
  await insert();
  expect(await warnings()).toEqual([]);
  expect(await warnings(user)).toEqual([]);
});

test('a sequence behind the highest id is told of, with both', async () => {
  await insert(2);
  expect(await warnings()).toEqual([
    expect.stringMatching(
      'the sequence public.tasks_id_seq will return id 1 next, but public.tasks has ids up to 2',
    ),
  ]);
});

test('one that was restarted behind them is not, before it has given an id', async () => {
  await insert(200);
  await pool.query('alter sequence tasks_id_seq restart with 201');
  expect(await warnings()).toEqual([]);
  expect(await warnings(user)).toEqual([]);
});

test('a role that may use it and not read it is told once it has given an id', async () => {
  await insert();
  await insert(200);
  expect(await warnings(user)).toEqual([expect.stringContaining('will return id 2 next')]);
});

test('a role that may not read the table is told nothing', async () => {
  await insert();
  await insert(200);
  expect(await warnings(reader)).toEqual([]);
});

test('ids that a sequence steps over are for others', async () => {
  await pool.query('alter sequence tasks_id_seq increment by 2');
  await insert(200);
  expect(await warnings()).toEqual([]);
});

test('a table that is locked keeps no start waiting', async () => {
  const told = await withClient(database, async (other) => {
    await other.query('begin; lock table tasks');
    return warnings();
  });
  expect(told).toEqual([
    expect.stringMatching('ahead of their sequence: canceling statement due to lock timeout'),
  ]);
});

test('only an id that is taken is explained', async () => {
  await insert(7);
  const refusal = async (sql: string): Promise<unknown> => pool.query(sql).catch((error: unknown) => error);
  const taken = await refusal(`insert into tasks (id) values (7)`);
  expect(explainTakenId(taken, tables)).toMatchObject({
    code: '23505',
    cause: taken,
    message: expect.stringMatching(/^id 7 of public\.tasks is already taken: .* `select setval\(/),
  });
  await pool.query(`insert into tasks (id_anterior) values (7)`);
  const followed = await refusal(`insert into tasks (id_anterior) values (7)`);
  expect(followed).toMatchObject({ code: '23505' });
  await pool.query('create table audit (id bigint primary key); insert into audit values (7)');
  const elsewhere = await refusal('insert into audit values (7)');
  expect(elsewhere).toMatchObject({ code: '23505', detail: expect.stringContaining('(id)=(7)') });
  for (const other of [followed, elsewhere, new Error('lost'), undefined])
    expect(explainTakenId(other, tables)).toBe(other);
  const inGerman = Object.assign(new Error('doppelter Schlüsselwert'), {
    ...(taken as object),
    detail: 'Schlüssel »(id)=(7)« existiert bereits.',
  });
  expect(explainTakenId(inGerman, tables)).toMatchObject({ message: expect.stringMatching('^id 7 of ') });
});
