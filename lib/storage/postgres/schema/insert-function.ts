import { quoteIdentifier, quoteLiteral, type QueueTables } from '../identifiers.js';
import { insertsSetting, isQuiet } from '../statement.js';
import { due, insertRow } from '../statements/insert.js';
import { ownName } from './schema-objects.js';

/** Types of the parameters: those of a row, the channel, the text of the ring after its time. */
const parameters =
  'text, double precision, text, text, text, text, text, text, text, text, integer, boolean, text, text, text';

/** Name of the function in SQL, with its schema. */
export function insertFunctionName(tables: QueueTables): string {
  return `${tables.quotedSchema}.${quoteIdentifier(ownName(tables, 'insert'))}`;
}

/** Name of the function with the types of its parameters, as `to_regprocedure` reads it. */
export function insertFunctionSignature(tables: QueueTables): string {
  return `${insertFunctionName(tables)}(${parameters})`;
}

/**
 * The function that inserts one task for the library in a transaction of the user's, and rings when that commits. There a
 * statement is planned again each time, which takes twice as long as this: a function's plans are kept by the session. It
 * rings by itself, because what the library inserts needs no look at the rows: the table's triggers leave it alone.
 *
 * It does what its caller may do by INSERT. Whole seconds make equal rings of one transaction one. A transaction that shall be
 * quiet rings for nothing.
 */
export function insertFunctionSql(tables: QueueTables): string {
  return `create or replace function ${insertFunctionSignature(tables)} returns text language plpgsql as $$
declare
  made text;
  due timestamptz := ${due};
  before text := coalesce(current_setting('${insertsSetting}', true), '');
  setting text := set_config('${insertsSetting}', ${quoteLiteral(tables.queue)}, true);
begin
  ${insertRow(tables.queue)}
  returning id::text into made;
  setting := set_config('${insertsSetting}', before, true);
  if due < 'infinity' and not (${isQuiet}) then
    perform pg_catalog.pg_notify($14, floor(extract(epoch from greatest(due, 'epoch')))::bigint || ' ' || $15);
  end if;
  return made;
end $$`;
}
