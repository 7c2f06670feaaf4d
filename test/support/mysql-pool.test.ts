import { expect, test } from 'vitest';
import { useMysqlDatabase } from './mysql.js';
import { speakingPool } from './mysql-pool.js';

const database = await useMysqlDatabase('mariadb');
const pool = speakingPool(database.pool, 'mariadb');

test('rows are as `pg` reads them', async () => {
  await pool.query(
    'create table t (id bigint auto_increment primary key, n int, is_so boolean, at timestamptz, metadados longtext)',
  );
  const inserted = await pool.query(
    `insert into t (n, is_so, at, metadados) values (7, true, $1, $2), (8, false, null, null) returning id`,
    [new Date(0), { a: 1 }],
  );
  expect(inserted).toEqual({ rows: [{ id: '1' }, { id: '2' }], rowCount: 2 });
  expect((await pool.query('select * from t order by id')).rows).toEqual([
    { id: '1', n: 7, is_so: true, at: new Date(0), metadados: { a: 1 } },
    { id: '2', n: 8, is_so: false, at: null, metadados: null },
  ]);
  const { rows } = await pool.query(
    `select count(*) as text, count(*)::int as number, 'a' || n as joined, n > 7 as "isMore" from t where n = 8 group by n`,
  );
  expect(rows).toEqual([{ text: '1', number: 1, joined: 'a8', isMore: true }]);
  expect(await pool.query('update t set n = 9')).toEqual({ rows: [], rowCount: 2 });
});

test('a session sees what others commit', async () => {
  const client = await pool.connect();
  await client.query('create table seen (n int)');
  await client.query('begin');
  expect((await client.query('select from seen')).rowCount).toBe(0);
  await pool.query('insert into seen values (1)');
  expect((await client.query('select from seen')).rowCount).toBe(1);
  await client.end();
});

test('what a client holds ends with it', async () => {
  await pool.query('create table held (n int)');
  const client = await pool.connect();
  await client.query('begin; insert into held values (1)');
  expect((await pool.query('select from held')).rowCount).toBe(0);
  await client.query('rollback');
  await client.query('lock table held in exclusive mode');
  await client.end();
  expect((await pool.query('delete from held')).rowCount).toBe(0);
});
