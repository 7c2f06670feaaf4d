import { expect, onTestFinished, test } from 'vitest';
import { createMysqlDatabase, mysqlStartMs } from './mysql.js';

test('databases are apart, and gone when dropped', { timeout: mysqlStartMs }, async () => {
  const [one, other] = [await createMysqlDatabase('mariadb'), await createMysqlDatabase('mariadb')];
  onTestFinished(() => other.drop());
  await one.pool.query('create table a (at datetime(6)); insert into a values (utc_timestamp(6))');
  const [tables] = await other.pool.query('show tables');
  expect(tables).toEqual([]);
  const [rows] = await one.pool.query('select at from a');
  expect(rows).toEqual([{ at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/) }]);
  await one.drop();
  const [left] = await other.pool.query(`show databases like '${one.name}'`);
  expect(left).toEqual([]);
});
