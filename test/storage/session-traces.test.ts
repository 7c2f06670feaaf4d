import { expect, test } from 'vitest';
import { traceOf } from '../../lib/storage/session-traces.js';

test.each([
  'update invoice\nset total = 1 where id = $1',
  'insert into "set" (a) values ($1) on conflict (a) do update set a = 1',
  'set local search_path to shop',
  'set local "search_path" to shop',
  '  SET LOCAL app.tenant = 7',
  'set transaction isolation level serializable',
  'set constraints all deferred',
  `select set_config('app.tenant', $1, true)`,
  `select set_config('app.tenant', concat('t', $1), true), now()`,
  'select pg_advisory_xact_lock(1), pg_try_advisory_xact_lock_shared(2)',
  'create temp table t (n int) on commit drop',
  'select preset, template, called from dossier',
  '-- set the total\nselect 1',
  "prepare transaction 'x'",
  'savepoint set_aside; release savepoint set_aside',
])('a session of PostgreSQL is as it was after %j', (text) => {
  expect(traceOf(text, 'postgres')).toBeUndefined();
});

test.each([
  ['set search_path to shop', 'set search_path'],
  ['\n  Set\n  session app.tenant = 7', 'session app.tenant'],
  ['-- of the tenant\nset role clerk', 'set role'],
  ['/* name: tenant **/ set time zone 3', '/* name: tenant **/ set time'],
  ["select 1; set app.tenant = '7'", 'set app.tenant'],
  ["select set_config('app.tenant', $1, false)", 'set_config('],
  ["select set_config('a', '1', false), set_config('b', '2', true)", 'set_config('],
  ['set "search_path" to shop', 'set "search_path"'],
  ['set session "App"."Tenant" = 7', 'set session "App"."Tenant"'],
  ['create table "pg_temp"."t" (n int)', 'pg_temp".'],
  ['reset all', 'reset'],
  ['select pg_advisory_lock(1)', 'pg_advisory_lock('],
  ['select pg_try_advisory_lock_shared($1, $2)', 'pg_try_advisory_lock_shared('],
  ['create temp table t (n int)', 'create temp'],
  ['create or replace TEMPORARY view v as select 1', 'create or replace TEMPORARY'],
  ['select 1 as n into pg_temp.t', 'pg_temp.'],
  ['listen shop', 'listen'],
  ['declare c cursor with hold for select 1', 'with hold'],
  ['prepare p as select 1', 'prepare'],
  ['select 1; DISCARD ALL', 'DISCARD'],
])('a session of PostgreSQL is another one after %j', (text, words) => {
  expect(traceOf(text, 'postgres')).toBe(words);
});

test.each([
  'update invoice\nset total = 1 where id = ?',
  'insert into t (a) values (?) on duplicate key update a = 1',
  'set transaction read only',
  `select used from temp where mail = 'a@b.example'`,
])('a session of MySQL is as it was after %j', (text) => {
  expect(traceOf(text, 'mysql')).toBeUndefined();
});

test.each([
  ['set time_zone = ?', 'set time_zone'],
  ['set local time_zone = ?', 'set local time_zone'],
  ['# of the tenant\nset names utf8mb4', 'set names'],
  ['set @total = 1', 'set @total'],
  ['set `time_zone` = ?', 'set `time_zone`'],
  ['set session "sql_mode" = ?', 'set session "sql_mode"'],
  ['select @`total` := 1', '@`total` :='],
  ['select 1; use shop', 'use'],
  ['select @total := 1', '@total :='],
  ['select 1 into @total', 'into @'],
  ['create temporary table t (n int)', 'create temporary'],
  ["select get_lock('a', 1)", 'get_lock('],
  ["prepare p from 'select 1'", 'prepare'],
  ['changeUser', 'changeUser'],
])('a session of MySQL is another one after %j', (text, words) => {
  expect(traceOf(text, 'mysql')).toBe(words);
});

test('a text of nothing but comments is read in time', () => {
  for (const comment of ['-- a ', '-- a\n', '/* a */ ', '# ', ';']) {
    expect(traceOf(comment.repeat(20_000), 'postgres')).toBeUndefined();
  }
});
