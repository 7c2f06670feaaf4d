import { expect, test } from 'vitest';
import { useDatabase } from '../../support/database.js';
import { listen } from '../../support/listening.js';
import { LogLines } from '../../support/log-lines.js';
import { createQueue, startApp } from '../../support/queue-app.js';
import { readSchema } from './catalog.js';

const database = await useDatabase();
const { pool } = database;

/** A schema with a complete queue, `tasks`, ready to be spoilt. */
async function makeQueue(schema: string): Promise<void> {
  await createQueue(database, { table: `${schema}.tasks` });
}

async function refusal(table: string, schema: 'create' | 'check' = 'create'): Promise<unknown> {
  return startApp(database, { table, schema, worker: false }).then(
    async (app) => app.close(),
    (error: unknown) => error,
  );
}

test.each(['create', 'check'] as const)(
  'a foreign table of that name is refused by %s and left alone',
  async (mode) => {
    const schema = `foreign_${mode}`;
    await pool.query(`create schema ${schema}; create table ${schema}.tasks (id serial, title text)`);
    const before = await readSchema(pool, schema);
    expect(await refusal(`${schema}.tasks`, mode)).toMatchObject({
      code: 'SCHEMA_CONFLICT',
      message: expect.stringMatching(
        /"foreign_\w+"\."tasks"\.id_inicial \(bigint\) is missing;.*prioridade \(integer\) is missing;.*\.id is integer, not bigint.*Choose another table name/,
      ),
    });
    expect(await readSchema(pool, schema)).toEqual(before);
  },
);

test('columns of other types are refused by name, with the type that they have and the one they need', async () => {
  await makeQueue('types');
  await pool.query(`
    alter table types.tasks alter column mensagem_anterior type varchar(20), drop column erro, add column erro int;
    alter table types.tasks_subscriber alter column headers type jsonb`);
  expect(await refusal('types.tasks')).toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(
      /: "types"\."tasks"\.mensagem_anterior is character varying\(20\), not character varying\(500\); "types"\."tasks"\.erro is integer, not text; "types"\."tasks_subscriber"\.headers is jsonb, not json\. Choose/,
    ),
  });
});

test('a column of the contract is not added behind the back of other programs', async () => {
  await makeQueue('contract');
  await pool.query(
    'alter table contract.tasks drop column mensagem cascade; alter table contract.tasks_subscriber drop column ativo cascade',
  );
  expect(await refusal('contract.tasks')).toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(
      /: "contract"\."tasks"\.mensagem \(character varying\(500\)\) is missing; "contract"\."tasks_subscriber"\.ativo \(boolean\) is missing\. /,
    ),
  });
});

test('columns that users add stay, and do not disturb', async () => {
  await makeQueue('extended');
  await pool.query(`alter table extended.tasks add column remark text default 'mine', drop column erro`);
  await makeQueue('extended');
  expect(await refusal('extended.tasks', 'check')).toBeUndefined();
  await pool.query('insert into extended.tasks default values');
  expect((await pool.query('select remark from extended.tasks')).rows).toEqual([{ remark: 'mine' }]);
});

test.each(['create', 'check'] as const)('a table of a newer version is refused by %s', async (mode) => {
  const schema = `newer_${mode}`;
  await makeQueue(schema);
  await pool.query(`update ${schema}.tarefa_migration set version = 1000`);
  expect(await refusal(`${schema}.tasks`, mode)).toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(
      /"tasks" was created by a newer version \(schema 1000,.*: upgrade nestjs-tarefa/,
    ),
  });
});

test('something else of the name of an index is said, instead of working without the index', async () => {
  await pool.query('create schema taken; create table taken.tasks_ready (id int)');
  expect(await refusal('taken.tasks')).toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining('has the name of index tasks_ready. Rename or drop that'),
  });
  expect(await readSchema(pool, 'taken')).toEqual(['r tasks_ready id integer ']);
});

test('an index that was left invalid is said, too', async () => {
  await makeQueue('invalid');
  await pool.query('drop index invalid.tasks_dead');
  await pool.query('insert into invalid.tasks (dead, live_id) values (true, 1), (true, 1)');
  await expect(
    pool.query('create unique index concurrently tasks_dead on invalid.tasks (live_id)'),
  ).rejects.toMatchObject({ code: '23505' });
  expect(await refusal('invalid.tasks', 'check')).toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringContaining('missing index tasks_dead. '),
  });
  expect(await refusal('invalid.tasks')).toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining('something invalid, already has the name of index tasks_dead'),
  });
});

test('a trigger that rings another channel is kept and warned of, because workers may listen there', async () => {
  await makeQueue('rung');
  const log = new LogLines();
  const options = { table: 'rung.tasks', queue: 'elsewhere', worker: false, logger: log };
  await (await startApp(database, options)).close();
  expect(log.of('warn')).toEqual([
    expect.stringMatching(
      /inserts into rung\.tasks ring the channel 'tasks', but this queue listens on 'elsewhere'.*drop the trigger tasks_ring/,
    ),
  ]);
  // Also when something else has to be made.
  await pool.query('drop index rung.tasks_age');
  await (await startApp(database, options)).close();
  expect(log.of('warn')).toHaveLength(2);
  const bell = await listen(database, 'tasks');
  await pool.query('insert into rung.tasks default values');
  expect(await bell.heard()).toHaveLength(1);
  await bell.close();
});

test('what was made is logged once', async () => {
  const log = new LogLines();
  const made = () => log.of('log').filter((line) => line.startsWith('created '));
  const options = { table: 'told.tasks', worker: false, logger: log };
  await (await startApp(database, options)).close();
  expect(made()).toEqual([
    expect.stringMatching(
      /^created table "told"\."tasks", table "told"\."tasks_subscriber", index tasks_ready,/,
    ),
  ]);
  await (await startApp(database, options)).close();
  expect(made()).toHaveLength(1);
});
