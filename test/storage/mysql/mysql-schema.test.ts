import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ResultSetHeader, RowDataPacket } from 'mysql2';
import { mysqlConfig, ownSettings } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../../../lib/storage/mysql/connections/mysql-package.js';
import { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import {
  prepareSchema,
  type PreparedQueue,
  type SchemaRequest,
} from '../../../lib/storage/mysql/schema/prepare-schema.js';
import { useMysqlDatabase } from '../../support/mysql.js';

const database = await useMysqlDatabase('mariadb');
const pool = await openPool(database.url);

afterAll(() => pool.close());
beforeEach(async () => {
  const [rows] = await database.pool.query<RowDataPacket[]>(
    'select table_name as name, table_type as type from information_schema.tables where table_schema = ?',
    [database.name],
  );
  for (const { name, type } of rows) {
    await database.pool.query(`drop ${type === 'VIEW' ? 'view' : 'table'} \`${name}\``);
  }
});

async function openPool(url: string): Promise<OwnPool> {
  return new OwnPool({ mysql: await loadMysql2(), config: mysqlConfig(url), max: 2, settings: ownSettings });
}

const request: SchemaRequest = {
  table: { schema: undefined, table: 'tasks' },
  subscriptionTable: { schema: undefined, table: 'subscription' },
  webhooks: true,
  mode: 'create',
};

function prepare(changed: Partial<SchemaRequest> = {}, on = pool): Promise<PreparedQueue> {
  return on.use((run) => prepareSchema(run, { ...request, ...changed }));
}

test('what is missing is made once, and its identity stays', async () => {
  const first = await prepare();
  expect(first).toMatchObject({
    seals: true,
    warnings: [],
    made: expect.arrayContaining(['table tasks_worker']),
  });
  const second = await prepare();
  expect(second).toMatchObject({ made: [], identity: first.identity });
  expect((await prepare({ mode: 'check' })).made).toEqual([]);
});

test('processes that start together make the tables once', async () => {
  const pools = await Promise.all(Array.from({ length: 4 }, () => openPool(database.url)));
  try {
    const prepared = await Promise.all(pools.map((one) => prepare({}, one)));
    expect(new Set(prepared.map(({ identity }) => identity)).size).toBe(1);
    expect(prepared.filter(({ made }) => made.length > 0)).toHaveLength(1);
  } finally {
    await Promise.all(pools.map((one) => one.close()));
  }
});

test('with schema: check everything that is missing is named, or that there is no such table', async () => {
  await expect(prepare({ mode: 'check' })).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringMatching(
      /the table test_\w+\.tasks does not exist: check the name, or create the queue\. Start/,
    ),
  });
  await prepare();
  await database.pool.query('drop trigger tasks_schedule; drop index age on tasks');
  await expect(prepare({ mode: 'check' })).rejects.toThrow(/missing index age of .*, trigger tasks_schedule/);
});

test('a start that was cut off is completed by the next one', async () => {
  await prepare();
  await database.pool.query('drop trigger tasks_schedule; drop view tasks_tasks; drop table tasks_seal');
  expect((await prepare()).made).toEqual([
    'trigger tasks_schedule',
    'table tasks_seal',
    expect.stringContaining('view'),
  ]);
  expect((await prepare()).made).toEqual([]);
});

test('a table of that name that is no queue is left alone', async () => {
  await database.pool.query('create table tasks (id int primary key, status varchar(100))');
  await expect(prepare()).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(/`tasks`\.id is int, not bigint.*id_inicial \(bigint\) is missing/),
  });
});

test('tables of a newer version are refused', async () => {
  await prepare();
  await database.pool.query('update tarefa_migration set version = 99');
  await expect(prepare()).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining('upgrade nestjs-tarefa'),
  });
});

describe('a user with few rights', () => {
  const user = `u${Date.now() % 1e8}`;

  beforeAll(async () => {
    await database.pool.query(`create user '${user}'@'%' identified by 'x'`);
  });
  afterAll(async () => {
    await database.pool.query(`drop user '${user}'@'%'`);
  });
  beforeEach(async () => {
    await database.pool.query(`revoke all privileges, grant option from '${user}'@'%'`);
  });

  /** A connection keeps the rights on its database that it began with. */
  async function prepareLimited(changed?: Partial<SchemaRequest>): Promise<PreparedQueue> {
    const address = new URL(database.url);
    address.username = user;
    address.password = 'x';
    const limited = await openPool(address.href);
    try {
      return await prepare(changed, limited);
    } finally {
      await limited.close();
    }
  }

  const grant = (what: string): Promise<unknown> =>
    database.pool.query(`grant ${what} on \`${database.name}\`.* to '${user}'@'%'`);

  test('hears what it needs to make the tables', async () => {
    await grant('select');
    await expect(prepareLimited()).rejects.toMatchObject({
      code: 'RIGHTS_MISSING',
      message: expect.stringContaining(`grant create, alter, drop, index`),
    });
  });

  test('hears what it needs to work with them', async () => {
    await prepare();
    await grant('select, insert');
    await expect(prepareLimited()).rejects.toMatchObject({
      code: 'RIGHTS_MISSING',
      message: expect.stringMatching(
        /grant update, delete on `\w+`\.`tasks` to '\w+'@'%';\ngrant update, delete on .*_worker/,
      ),
    });
    await grant('update, delete');
    expect((await prepareLimited()).made).toEqual([]);
  });

  test('that only produces needs none of it', async () => {
    await prepare();
    await grant('select, insert');
    expect(await prepareLimited({ works: false })).toMatchObject({ seals: false, made: [] });
  });

  test('on the queue table alone may produce', async () => {
    await prepare();
    await database.pool.query(`grant insert, select on \`${database.name}\`.tasks to '${user}'@'%'`);
    const produces = { works: false, mode: 'check' } as const;
    expect(await prepareLimited(produces)).toMatchObject({ seals: false, made: [], identity: undefined });
  });
});

describe('rows that programs insert', () => {
  async function insert(columns: Readonly<Record<string, unknown>>): Promise<RowDataPacket> {
    const names = Object.keys(columns);
    const [{ insertId }] = await database.pool.query<ResultSetHeader>(
      `insert into tasks (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
      Object.values(columns),
    );
    const [[row]] = await database.pool.query<RowDataPacket[]>('select * from tasks where id = ?', [
      insertId,
    ]);
    if (!row) throw new Error('the row is gone');
    return row;
  }

  test('a task for later is filed as scheduled, and one that is due now is pending', async () => {
    await prepare();
    expect(await insert({ processo: 'a', data_hora: '2999-01-01' })).toMatchObject({
      status: 'agendada',
      rota_pronta: null,
    });
    const due = await insert({ processo: 'a', payload: '{}' });
    expect(due).toMatchObject({ status: 'pendente', tentativa: 1, prioridade: 50 });
    expect(String(due['rota_pronta'])).toBe('t:a');
    expect(due['data_hora']).toBe(due['data_hora_inicial']);
  });

  test('what only the library writes, and what was set to null, is corrected', async () => {
    await prepare();
    const claimed = {
      executor: 7,
      reserva: 9,
      perdas: 4,
      iniciada_em: '2020-01-01',
      prazo: '2020-01-01',
      limite: 'x',
    };
    const emptied = { status: null, data_hora: null, tentativa: null, prioridade: null };
    expect(await insert({ processo: 'a', ...emptied, ...claimed })).toMatchObject({
      status: 'pendente',
      tentativa: 1,
      prioridade: 50,
      executor: null,
      reserva: 0,
      perdas: 0,
      iniciada_em: null,
      prazo: null,
      limite: null,
    });
  });

  test('a next attempt of a program goes on in the round of the one before', async () => {
    await prepare();
    const first = await insert({ processo: 'a', rodada: 3 });
    const next = await insert({
      processo: 'a',
      id_anterior: first['id'],
      id_inicial: first['id'],
      tentativa: 2,
    });
    expect(next).toMatchObject({ rodada: 3, tentativa: 2 });
    await expect(insert({ processo: 'a', id_anterior: first['id'] })).rejects.toMatchObject({ errno: 1062 });
  });

  test('routes tell apart what collations take for equal', async () => {
    await prepare();
    const routes = new Set<string>();
    for (const topic of ['a', 'A', 'a ', 'á', 'ä']) {
      const { rota_pronta: route } = await insert({ processo: topic });
      routes.add((route as Buffer).toString('hex'));
    }
    expect(routes.size).toBe(5);
  });
});
