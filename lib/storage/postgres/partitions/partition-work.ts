import { quoteLiteral } from '../identifiers.js';
import { ownName } from '../schema/schema-objects.js';
import { statement } from '../statement.js';

/**
 * Asks whether partitions may have to be made, by one statement and where no connection has to be opened for it: `last`
 * is the id that was given last where the table has partitions, and `limited` is true while it is being partitioned.
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
