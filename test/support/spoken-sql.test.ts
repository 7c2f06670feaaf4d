import { expect, test } from 'vitest';
import { withMysqlPlaceholders } from './run-database.js';
import { speakMysql } from './spoken-sql.js';

const said = (text: string, ...values: unknown[]): string => speakMysql(text, values).sql;

test.each<[text: string, values: readonly unknown[], sql: string]>([
  ['select from t where a = $2 and b = $1', ['x', 7], `select 1 from t where a = 7 and b = 'x'`],
  ['select id from t where id = any($1::bigint[])', [['1', '2']], `select id from t where id in ('1', '2')`],
  ['select id from t where id = any($1)', [[]], 'select id from t where id in (null)'],
  [`select 'it''s $1 and now()'`, [], `select 'it\\'s $1 and now()'`],
  [
    `update t set at = now() - interval '2 hours'`,
    [],
    'update t set at = utc_timestamp(6) - interval 7200000000 microsecond',
  ],
  [
    `select $1::int * interval '1 day', n * interval '1 s'`,
    [3],
    'select interval (3) * 86400000000 microsecond, interval (n) * 1000000 microsecond',
  ],
  [
    'select count(*)::int as n, max(id)::text as id from t',
    [],
    'select count(*) + 0e0 as n, max(id) as id from t',
  ],
  ['truncate a, b', [], 'delete from a; delete from b'],
  [`update t set a = 1; notify t, '* later'`, [], 'update t set a = 1'],
  ['begin; lock table t in access exclusive mode', [], 'start transaction; lock tables t write'],
  ['alter sequence t_id_seq restart with 7', [], 'alter table t auto_increment = 7'],
])('%s', (text, values, sql) => {
  expect(said(text, ...values)).toBe(sql);
});

test('a series is a table of its numbers', () => {
  expect(said('select n from generate_series(2, $1::int) n', 4)).toMatch(
    /^select n from \(select n - 1 \+ 2 as n from json_table\(.*repeat\(',1', 4 - 2\).* every\) n$/,
  );
});

test('times are sent in UTC, what is made of several values as JSON', () => {
  expect(said('select $1, $2, $3', new Date(0), '2026-01-02T03:04:05.678901Z', { a: [1] })).toBe(
    `select '1970-01-01 00:00:00.000', '2026-01-02 03:04:05.678901', '{\\"a\\":[1]}'`,
  );
});

test('what an insert returns is read by a second statement', () => {
  expect(speakMysql('insert into t (a) values ($1) returning id::text', ['x'])).toEqual({
    sql: `insert into t (a) values ('x')`,
    returning: { table: 't', columns: 'id' },
  });
});

test('what is no interval is refused', () => {
  expect(() => said(`select interval '1 fortnight'`)).toThrow('not an interval: 1 fortnight');
});

test('the statements of handlers keep their values apart', () => {
  expect(withMysqlPlaceholders('insert into t values ($1, $2)')).toBe('insert into t values (?, ?)');
});
