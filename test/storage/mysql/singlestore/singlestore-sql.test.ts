import { expect, test } from 'vitest';
import { sessions } from '../../../../lib/storage/mysql/statement.js';
import { inSingleStore } from '../../../../lib/storage/mysql/singlestore/singlestore-sql.js';

const rows = `json_table(?, '$[*]' columns (id bigint path '$.id', message varchar(500) character set utf8mb4 path '$.message'))`;

test('entries of an array of JSON become rows, numbers in the text and texts as parameters', () => {
  const json = JSON.stringify([{ id: '9007199254740993', message: 'it’s' }, { id: '2' }]);
  expect(inSingleStore(`select x.id from ${rows} x where x.id > ?`, [json, 7])).toEqual({
    text:
      'select x.id from (select 9007199254740993 as id, ? as message from dual union all ' +
      'select 2, null from dual) x where x.id > ?',
    values: ['it’s', 7],
  });
});

test('an array without entries becomes no rows', () => {
  expect(inSingleStore(`select 1 from ${rows} x`, ['[]'])).toEqual({
    text: 'select 1 from (select null as id, null as message from dual where 1 = 0) x',
    values: [],
  });
});

test('ids that are numbers of JSON keep their last digits', () => {
  const list = `json_table(?, '$[*]' columns (id bigint path '$'))`;
  const { text } = inSingleStore(`select j.id from ${list} j`, ['[9007199254740993,2]']);
  expect(text).toContain('select 9007199254740993 as id from dual union all select 2 from dual');
});

test('entries that are arrays are read by their places', () => {
  const pairs = `json_table(?, '$[*]' columns (id bigint path '$[0]', reservation int path '$[1]'))`;
  expect(inSingleStore(`select 1 from ${pairs} s`, ['[["3",4]]']).text).toBe(
    'select 1 from (select 3 as id, 4 as reservation from dual) s',
  );
});

test('a number that is none is refused before it stands in a text', () => {
  const json = JSON.stringify([{ id: '1; drop table tasks' }]);
  expect(() => inSingleStore(`select 1 from ${rows} x`, [json])).toThrow(SyntaxError);
});

test('question marks in quotes, names and comments are no parameters', () => {
  const text = "-- why?\nselect '?', `?`, ? from dual";
  expect(inSingleStore(text, [1])).toEqual({ text, values: [1] });
});

test.each([
  [
    'select 1 from t f force index (primary) where f.id = ?\nfor update skip locked',
    'select 1 from t f where f.id = ?\nfor update',
  ],
  ['select 1 from a straight_join b on a.id = b.id', 'select 1 from a join b on a.id = b.id'],
  ['select is_used_lock(concat(?, w.id)) is null', 'select if(concat(?, w.id) is null, 1, null) is null'],
  [`select 1 from ${sessions}`, 'select 1 from information_schema.processlist'],
  [
    'set session lock_wait_timeout = default\n  /*M! , max_statement_time = default */',
    'set session lock_wait_timeout = 5',
  ],
  ['savepoint tarefa_attempt', 'start transaction'],
  ['rollback to savepoint tarefa_attempt', 'rollback'],
  ["select json_quote('a')", "select to_json('a')"],
  ["select json_object('a', 1)", "select json_build_object('a', 1)"],
  [
    'select case when json_valid(s.headers) then 1 end',
    'select case when (s.headers is not null) then 1 end',
  ],
])('%s is said in other words', (text, other) => {
  expect(inSingleStore(text, []).text).toBe(other);
});
