import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { qualifiedIndex } from '../migration/schema-shape.js';
import type { SchemaSession } from '../migration/schema-session.js';
import { indexSql } from '../schema/schema-objects.js';
import type { IndexDefinition } from '../schema/schema.js';

/** PostgreSQL cuts longer names. */
const longestName = 63;

/** Name of the part of an index that belongs to a partition: by its oid, because partitions come and go meanwhile. */
const partName = (name: string, partitionOid: unknown): string => {
  const ending = `_${String(partitionOid)}`;
  return `${name.slice(0, longestName - ending.length)}${ending}`;
};

/**
 * Builds an index of a partitioned queue while it is used, which PostgreSQL cannot do in one statement: an index of the table
 * alone, then one of each partition, concurrently, which is attached to the first. After an interruption it goes on.
 */
export async function buildPartitionedIndex(
  session: SchemaSession,
  tables: QueueTables,
  { suffix, on, where }: IndexDefinition,
  name: string,
): Promise<void> {
  const index = { suffix, on, ...(where === undefined ? {} : { where }) };
  const alone = { ...tables, queue: `only ${tables.queue}` };
  await session.short(`creating ${name}`, tables.queue, (tx) => tx.query(indexSql(alone, index, { name })));
  const { rows: partitions } = await session.query(
    `select c.oid::text as oid, c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = to_regclass($1::text) order by 2`,
    [tables.queue],
  );
  for (const row of partitions) {
    const partition = { ...tables, queue: qualifiedIndex(tables, String(row['name'])) };
    const part = partName(name, row['oid']);
    if (await isPart(session, tables, name, partition.queue)) continue;
    await session.alone(`drop index concurrently if exists ${qualifiedIndex(tables, part)}`);
    await session.alone(indexSql(partition, index, { concurrently: true, name: part }));
    await session.short(`creating ${name}`, tables.queue, (tx) =>
      tx.query(
        `alter index ${qualifiedIndex(tables, name)} attach partition ${qualifiedIndex(tables, part)}`,
      ),
    );
  }
  await refuseInvalid(session, tables, name);
}

/** Gives an index the name of another one, which is dropped, and renames its parts to match. To be called in a transaction. */
export async function takePlace(
  tx: SqlHandle,
  tables: QueueTables,
  { successor, name }: { readonly successor: string; readonly name: string },
): Promise<void> {
  await tx.query(`drop index if exists ${qualifiedIndex(tables, name)}`);
  // Those of partitions that were attached meanwhile were named by PostgreSQL.
  const { rows } = await tx.query(
    `select c.relname::text as name, i.indrelid::text as partition
     from pg_inherits h join pg_class c on c.oid = h.inhrelid join pg_index i on i.indexrelid = c.oid
     where h.inhparent = to_regclass($1::text) and c.relnamespace = to_regnamespace($2::text)`,
    [qualifiedIndex(tables, successor), tables.quotedSchema],
  );
  const rename = async (from: string, to: string): Promise<void> => {
    await tx.query(`alter index ${qualifiedIndex(tables, from)} rename to ${quoteIdentifier(to)}`);
  };
  for (const row of rows) {
    if (row['name'] !== partName(successor, row['partition'])) continue;
    await rename(row['name'], partName(name, row['partition']));
  }
  await rename(successor, name);
}

/** When a partition is dropped before its part is attached, the index stays invalid: nothing validates it later. */
async function refuseInvalid(session: SchemaSession, tables: QueueTables, name: string): Promise<void> {
  const { rows } = await session.query(
    `select from pg_index i where i.indexrelid = to_regclass($1::text) and i.indisvalid`,
    [qualifiedIndex(tables, name)],
  );
  if (rows.length > 0) return;
  await session.short(`dropping ${name}`, tables.queue, (tx) =>
    tx.query(`drop index if exists ${qualifiedIndex(tables, name)}`),
  );
  throw new TarefaError(
    'SCHEMA_BUSY',
    `partitions of ${tables.qualifiedName} were added or dropped while ${name} was built: run the command again`,
  );
}

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
