import { quoteLiteral } from '../identifiers.js';
import { ownName } from '../schema/schema-objects.js';
import { statement } from '../statement.js';

/**
 * Asks by one statement, on an open connection, whether partitions may be needed: `last` is the last id of a partitioned
 * table, and `limited` is true while the table is being partitioned.
 */
export const partitionWork = statement('partition_work', (tables) => {
  const table = `to_regclass(${quoteLiteral(tables.queue)})`;
  return `
select
  (select pg_sequence_last_value(pg_get_serial_sequence(${quoteLiteral(tables.queue)}, 'id')::regclass)::text
   from pg_class c where c.oid = ${table} and c.relkind = 'p') as last,
  exists (
    select from pg_class c where c.oid = ${table} and c.relkind = 'p'
  ) as partitioned,
  exists (
    select from pg_constraint c
    where c.conrelid = ${table} and c.conname = ${quoteLiteral(ownName(tables, 'id_limit'))}
  ) as limited`;
});
