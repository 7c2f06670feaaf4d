import type { SqlHandle } from '../../sql-handle.js';
import { quoteIdentifier, quoteLiteral, queueTables, type QueueTables } from '../identifiers.js';
import { isPartitioned } from '../schema/inspect-schema.js';
import { partitionedLayout } from '../partitions/partitioned-layout.js';
import { insertFunctionSignature } from '../schema/insert-function.js';
import { ownName } from '../schema/schema-objects.js';
import { plainLayout, schemaStatements } from '../schema/schema-statements.js';
import { queueIndexes } from '../schema/schema.js';

/** Definitions of a queue table's parts, as PostgreSQL prints them, without the names of the queue. */
export interface SchemaShape {
  /** By suffix, also invalid ones. */
  readonly indexes: ReadonlyMap<string, IndexState>;
  /** By suffix; without the channel. */
  readonly triggers: ReadonlyMap<string, string>;
  /** Bodies, by suffix. */
  readonly functions: ReadonlyMap<string, string>;
  /** Undefined when there is none. */
  readonly view: string | undefined;
}

/** An existing index. */
export interface IndexState {
  readonly definition: string;
  readonly isValid: boolean;
}

const functionSuffixes = ['schedule', 'ring', 'insert'];

/** Name of a queue that exists only inside a transaction that is rolled back. */
const momentary = 'tarefa_shape';

/**
 * What this library makes, as this server prints it: made under another name and rolled back, because each version of the
 * server prints expressions in its own way, and some in another one after a dump was restored. To be called in a transaction
 * that holds the lock of schemas.
 *
 * For a role that may not make tables, existing definitions count as right.
 */
export async function readWantedShape(
  tx: SqlHandle,
  queue: QueueTables,
  found: SchemaShape,
): Promise<SchemaShape> {
  const tables = queueTables(queue.schema, momentary, undefined);
  const layout = (await isPartitioned(tx, queue)) ? partitionedLayout() : plainLayout;
  await tx.query('savepoint tarefa_shape');
  try {
    for (const statement of schemaStatements(tables, '', { rings: true, webhooks: false, layout })) {
      await tx.query(statement);
    }
    const made = await readShape(tx, tables);
    await restoreParts(tx, tables);
    return spelledAs(found, made, await readShape(tx, tables));
  } catch (error) {
    if ((error as { code?: unknown }).code !== '42501') throw error;
    return presumedShape(found);
  } finally {
    await tx.query('rollback to savepoint tarefa_shape');
  }
}

/**
 * Makes indexes, triggers and the view again from what the server prints of them, as a restored dump does: it reads what it has
 * printed in another way than what we wrote, and prints that in another way again.
 */
async function restoreParts(tx: SqlHandle, tables: QueueTables): Promise<void> {
  await tx.query(`do $restore$
    declare part record;
    begin
      for part in
        select format('drop index %s', i.indexrelid::regclass) as first, pg_get_indexdef(i.indexrelid) as definition
        from pg_index i where i.indrelid = ${quoteLiteral(tables.queue)}::regclass and not i.indisprimary
        union all
        select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), pg_get_triggerdef(t.oid)
        from pg_trigger t where t.tgrelid = ${quoteLiteral(tables.queue)}::regclass and not t.tgisinternal
        union all
        select format('drop view %s', c.oid::regclass), format('create view %s as %s', c.oid::regclass, pg_get_viewdef(c.oid))
        from pg_class c where c.oid = ${quoteLiteral(tables.view)}::regclass
      loop
        execute part.first;
        execute part.definition;
      end loop;
    end $restore$`);
}

/** Each part as it was made, or as it was restored where that is how the one prints that is there. */
function spelledAs(found: SchemaShape, made: SchemaShape, restored: SchemaShape): SchemaShape {
  return {
    indexes: new Map(
      [...made.indexes].map(([suffix, state]) => {
        const other = restored.indexes.get(suffix);
        return [
          suffix,
          other?.definition === found.indexes.get(suffix)?.definition ? (other ?? state) : state,
        ];
      }),
    ),
    triggers: new Map(
      [...made.triggers].map(([suffix, definition]) => {
        const other = restored.triggers.get(suffix);
        return [suffix, other === found.triggers.get(suffix) ? (other ?? definition) : definition];
      }),
    ),
    functions: made.functions,
    view: found.view === restored.view ? restored.view : made.view,
  };
}

/** Compares by name only: what exists is right, what is missing differs. */
function presumedShape(found: SchemaShape): SchemaShape {
  const absent = 'absent';
  const wanted = (names: readonly string[], there: ReadonlyMap<string, string>): Map<string, string> =>
    new Map(names.map((name) => [name, there.get(name) ?? absent]));
  return {
    indexes: new Map(
      queueIndexes.map(({ suffix }) => [
        suffix,
        { definition: found.indexes.get(suffix)?.definition ?? absent, isValid: true },
      ]),
    ),
    triggers: wanted(['schedule', 'ring'], found.triggers),
    functions: wanted(functionSuffixes, found.functions),
    view: found.view ?? absent,
  };
}

/** The existing definitions. */
export async function readShape(tx: SqlHandle, tables: QueueTables): Promise<SchemaShape> {
  const { rows: indexes } = await tx.query(
    `select c.relname::text as name, pg_get_indexdef(i.indexrelid) as definition, i.indisvalid as valid,
       (select string_agg(coalesce(o.collname, '-'), ' ' order by k.place)
        from unnest(i.indcollation) with ordinality k (id, place) left join pg_collation o on o.oid = k.id) as orders
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = to_regclass($1::text)`,
    [tables.queue],
  );
  const { rows: triggers } = await tx.query(
    `select t.tgname::text as name, pg_get_triggerdef(t.oid) as definition
     from pg_trigger t
     where t.tgrelid = to_regclass($1::text) and not t.tgisinternal and t.tgenabled <> 'D'`,
    [tables.queue],
  );
  const { rows: functions } = await tx.query(
    `select p.proname::text as name, p.prosrc as body
     from pg_proc p
     where p.pronamespace = to_regnamespace($1::text) and p.proname = any($2::text[])
       and (p.pronargs = 0 or p.oid = to_regprocedure($3::text))`,
    [
      tables.quotedSchema,
      functionSuffixes.map((suffix) => ownName(tables, suffix)),
      insertFunctionSignature(tables),
    ],
  );
  const { rows: views } = await tx.query(
    `select pg_get_viewdef(c.oid) as definition from pg_class c where c.oid = to_regclass($1::text) and c.relkind = 'v'`,
    [tables.view],
  );
  const bySuffix = <T>(
    rows: readonly Record<string, unknown>[],
    read: (row: Record<string, unknown>) => T,
  ): Map<string, T> => {
    const start = `${tables.table}_`;
    return new Map(
      rows
        .filter((row) => String(row['name']).startsWith(start))
        .map((row) => [String(row['name']).slice(start.length), read(row)]),
    );
  };
  const view = views[0]?.['definition'];
  return {
    indexes: bySuffix(indexes, (row) => ({
      // An order is printed only where it is not the column's, which differs in an adopted table.
      definition: `${withoutNames(
        String(row['definition']).replaceAll(/ COLLATE (\w+|"[^"]+")(\."[^"]+")?/g, ''),
        /^CREATE (UNIQUE )?INDEX \S+ ON (ONLY )?\S+/,
      )} by ${String(row['orders'])}`,
      isValid: row['valid'] === true,
    })),
    triggers: bySuffix(triggers, (row) =>
      withoutNames(
        // Its condition names the queue.
        String(row['definition']).replaceAll(quoteLiteral(tables.queue), 'queue'),
        /^CREATE TRIGGER \S+ /,
        / ON \S+ /,
        /EXECUTE FUNCTION .*$/s,
      ),
    ),
    functions: bySuffix(functions, (row) => String(row['body']).replaceAll(tables.queue, 'queue')),
    view: view === undefined ? undefined : withoutNames(view as string, /FROM \S+ f\b/),
  };
}

/** An index's name in SQL, with its schema. */
export function qualifiedIndex({ quotedSchema }: QueueTables, name: string): string {
  return `${quotedSchema}.${quoteIdentifier(name)}`;
}

/** Keeps `UNIQUE`, which stands among the names. */
function withoutNames(definition: string, ...names: readonly RegExp[]): string {
  return names.reduce(
    (text, name) => text.replace(name, (_, unique: unknown) => (unique === 'UNIQUE ' ? 'UNIQUE ' : '')),
    definition,
  );
}
