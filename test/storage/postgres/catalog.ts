import type { Pool } from 'pg';

/** A column as the catalog has it: name, type, default, whether it is `not null`. */
export type ColumnFacts = readonly [
  name: string,
  type: string,
  defaultText: string | null,
  required: boolean,
];

export async function readColumns(pool: Pool, table: string): Promise<readonly ColumnFacts[]> {
  const { rows } = await pool.query<ColumnFacts & unknown[]>({
    text: `select a.attname::text, format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid), a.attnotnull
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped
      order by a.attnum`,
    values: [table],
    rowMode: 'array',
  });
  return rows;
}

/** Indexes of a table, name to definition without the name and the schema. */
export async function readIndexes(pool: Pool, table: string): Promise<Record<string, string>> {
  const { rows } = await pool.query<{ name: string; definition: string }>(
    `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
     from pg_index i where i.indrelid = $1::regclass and i.indisvalid`,
    [table],
  );
  return Object.fromEntries(
    rows.map(({ name, definition }) => [
      name,
      definition
        .replaceAll(/\s+/g, ' ')
        .replace(/^CREATE (UNIQUE )?INDEX \S+ ON \S+ USING /, (_, unique) => unique ?? ''),
    ]),
  );
}

/** Everything in a schema that starting an application could change: definitions, not data. */
export async function readSchema(pool: Pool, schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select line from (
       select c.relkind::text || ' ' || c.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' '
         || coalesce(pg_get_expr(d.adbin, d.adrelid), '')
       from pg_class c
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where c.relnamespace = $1::regnamespace
       union all
       select pg_get_indexdef(indexrelid) from pg_index i
       join pg_class c on c.oid = i.indexrelid where c.relnamespace = $1::regnamespace
       union all
       select pg_get_triggerdef(t.oid) from pg_trigger t
       join pg_class c on c.oid = t.tgrelid where c.relnamespace = $1::regnamespace and not t.tgisinternal
       union all
       select pg_get_functiondef(oid) from pg_proc where pronamespace = $1::regnamespace
       union all
       select pg_get_viewdef(c.oid) from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'v'
     ) lines (line) order by line`,
    [schema],
  );
  return rows.map(({ line }) => line);
}
