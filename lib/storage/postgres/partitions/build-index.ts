import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { qualifiedIndex } from '../migration/schema-shape.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { indexSql } from '../schema-objects.js';
import type { IndexDefinition } from '../schema.js';

/**
 * Builds an index of a partitioned queue while it is used, which PostgreSQL does not do by itself: one of the table alone,
 * one of each partition, concurrently, and these become parts of that. What was built before an interruption is kept.
 */
export async function buildPartitionedIndex(
  session: SchemaSession,
  tables: QueueTables,
  { suffix, on, where }: IndexDefinition,
  name: string,
): Promise<void> {
  const index = { suffix, on, ...(where === undefined ? {} : { where }) };
  const alone = { ...tables, queue: `only ${tables.queue}` };
  await session.short(`making ${name}`, tables.queue, (tx) => tx.query(indexSql(alone, index, { name })));
  const { rows: partitions } = await session.query(
    `select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = to_regclass($1::text) order by 1`,
    [tables.queue],
  );
  for (const [place, row] of partitions.entries()) {
    const partition = { ...tables, queue: qualifiedIndex(tables, String(row['name'])) };
    const part = `${name.slice(0, 55)}_${place + 1}`;
    if (await isPart(session, tables, name, partition.queue)) continue;
    await session.alone(`drop index concurrently if exists ${qualifiedIndex(tables, part)}`);
    await session.alone(indexSql(partition, index, { concurrently: true, name: part }));
    await session.short(`making ${name}`, tables.queue, (tx) =>
      tx.query(`alter index ${qualifiedIndex(tables, name)} attach partition ${quotedPart(tables, part)}`),
    );
  }
}

const quotedPart = ({ quotedSchema }: QueueTables, part: string): string =>
  `${quotedSchema}.${quoteIdentifier(part)}`;

/** Whether the partition has its part already. */
async function isPart(
  session: SchemaSession,
  tables: QueueTables,
  name: string,
  partition: string,
): Promise<boolean> {
  const { rows } = await session.query(
    `select from pg_inherits h join pg_index i on i.indexrelid = h.inhrelid
     where h.inhparent = to_regclass($1::text) and i.indrelid = to_regclass($2::text)`,
    [qualifiedIndex(tables, name), partition],
  );
  return rows.length > 0;
}
