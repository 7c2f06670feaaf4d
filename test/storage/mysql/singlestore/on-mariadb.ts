import type { Dialect, Sent } from '../../../../lib/storage/mysql/dialect.js';
import { singleStoreDialect } from '../../../../lib/storage/mysql/singlestore/singlestore-dialect.js';
import { createMysqlDatabase, type MysqlFlavour, type MysqlTestDatabase } from '../../../support/mysql.js';
import { undocumentedIn } from './documented.js';

/** What SingleStore is by itself, which MariaDB is told. */
const asSingleStore = `set session transaction isolation level read committed; set session time_zone = '+00:00';
set session innodb_lock_wait_timeout = 5;\n`;

/** The dialect of SingleStore on MariaDB: what is sent is checked first, and then said in MariaDB's words where it has others. */
export const onMariadb: Dialect = {
  ...singleStoreDialect,
  settings: {
    tasks: `${asSingleStore}${singleStoreDialect.settings.tasks}`,
    own: `${asSingleStore}${singleStoreDialect.settings.own}`,
  },
  // What MariaDB is told of SingleStore is not for SingleStore.
  write(text, values) {
    const told = text.startsWith(asSingleStore) ? asSingleStore : '';
    const sent = checked(singleStoreDialect.write(text.slice(told.length), values));
    return { ...sent, text: `${told}${sent.text}` };
  },
};

/** Thrown by the dialect itself, so that whatever was to be sent is not. */
function checked({ text, values }: Sent): Sent {
  const problem = undocumentedIn(text);
  if (problem !== undefined) throw new Error(`SingleStore's documentation has no ${problem}: ${text}`);
  return { text: inMariadb(text), values };
}

/** MariaDB writes the types of computed columns elsewhere, and has neither kinds of tables nor partitions by a key. */
function inMariadb(text: string): string {
  if (!text.startsWith('create rowstore table ')) return text;
  return text
    .replace('create rowstore table ', 'create table ')
    .replaceAll(/^( {2}\w+) as \((.*)\) persisted (\w+(?:\(\d+\))?)(,?)$/gm, '$1 $3 as ($2) stored$4')
    .replace(/\n {2}shard key \(\w+\),/, '');
}

const text = 'longtext character set utf8mb4';
/** As many as the statement has that reads what a claim has taken. */
const mostArguments = 38;

/** A database of MariaDB with functions of SingleStore's that it has under other names. */
export async function createWithStandIns(
  flavour: MysqlFlavour,
  create = createMysqlDatabase,
): Promise<MysqlTestDatabase> {
  const database = await create(flavour);
  const { pool, name } = database;
  const names = Array.from({ length: mostArguments }, (_, index) => `p${index}`);
  await pool.query(`alter database ${name} character set utf8mb4 collate utf8mb4_bin`);
  await pool.query(
    `create function to_json(value ${text}) returns ${text} deterministic return json_quote(value)`,
  );
  await pool.query(
    `create function json_build_object(${names.map((one) => `${one} ${text}`).join(', ')}) returns ${text} deterministic
return json_object(${names.join(', ')})`,
  );
  return database;
}
