import { expect, test } from 'vitest';
import { singleStoreDialect } from '../../../../lib/storage/mysql/singlestore/singlestore-dialect.js';
import { queueTables } from '../../../../lib/storage/mysql/identifiers.js';
import {
  tableStatements,
  triggerStatements,
} from '../../../../lib/storage/mysql/schema/schema-statements.js';
import { undocumented, undocumentedIn } from './documented.js';

const tables = queueTables('shop', 'tasks', { schema: 'shop', table: 'tasks_subscriber' }, 'singlestore');
const written = tableStatements(tables, true).map((text) => singleStoreDialect.write(text, []).text);

test.each(undocumented)('$construct is refused: $example', ({ construct, example }) => {
  expect(undocumentedIn(example)).toBe(construct);
});

test('what a text quotes or says in a comment is not refused', () => {
  expect(undocumentedIn("-- skip locked\nselect 'skip locked' from dual")).toBeUndefined();
});

test('tables are made of what is documented, and there is no trigger', () => {
  expect(written.map(undocumentedIn)).toEqual(written.map(() => undefined));
  expect(triggerStatements(tables)).toEqual([]);
});

test('rows are divided by their id, and no other key is unique', () => {
  const [queue = ''] = written;
  expect(queue).toContain('create rowstore table if not exists `shop`.`tasks` (');
  expect(queue).toContain('\n  shard key (id),');
  expect(queue).not.toMatch(/\bunique\b/);
  expect(undocumentedIn(queue.replace('  key dead (', '  unique key dead ('))).toBe(
    'a unique key without the columns of the shard key',
  );
});

test('a column that the server computes has its type behind its expression', () => {
  expect(written[0]).toContain(
    "\n  agendada_em as (case when status = 'agendada' then data_hora end) persisted datetime(6),",
  );
});

test('the statements of MySQL would be refused', () => {
  const mysqlTables = queueTables('shop', 'tasks', undefined);
  expect(tableStatements(mysqlTables, true).map(undocumentedIn).filter(Boolean)).not.toEqual([]);
});
