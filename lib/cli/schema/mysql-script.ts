import type { QueueTables } from '../../storage/mysql/identifiers.js';
import { schemaVersion } from '../../storage/mysql/schema/schema.js';
import { tableStatements, triggerStatements } from '../../storage/mysql/schema/schema-statements.js';

/**
 * Everything that makes a queue in MySQL or MariaDB, for the client `mysql`: each statement may be run again. Statements whose
 * values are secret draw them where they are run.
 */
export function mysqlScript(tables: QueueTables, webhooks: boolean): string {
  const { quotedDatabase, table } = tables;
  const [drop = '', create = ''] = triggerStatements(tables);
  return [
    `-- The queue ${tables.qualifiedName}, version ${schemaVersion}, for MySQL from 8.0.22 and MariaDB from 10.10.`,
    `create database if not exists ${quotedDatabase} character set utf8mb4;`,
    ...tableStatements(tables, webhooks).map((text) => `${text};`),
    `${drop};`,
    // The client would end the trigger at its first semicolon.
    `delimiter //\n${create} //\ndelimiter ;`,
    'set @tarefa_key = random_bytes(64);',
    `${sealSql(tables)};`,
    `insert into ${tables.migrations} (table_name, version, identity) values ('${table}', ${schemaVersion}, uuid())
on duplicate key update version = greatest(version, ${schemaVersion});`,
    '',
  ].join('\n\n');
}

/** The key's two halves, as the start of an application makes them: byte by byte, because MariaDB combines no bytes. */
function sealSql({ seal }: QueueTables): string {
  const combined = (constant: number): string =>
    `unhex(group_concat(lpad(hex(ascii(substr(@tarefa_key, i, 1)) ^ ${constant}), 2, '0') order by i separator ''))`;
  return `insert ignore into ${seal} (single, inner_key, outer_key)
with recursive place as (select 1 as i union all select i + 1 from place where i < 64)
select 1, ${combined(0x36)}, ${combined(0x5c)} from place`;
}
