import type { SqlHandle } from '../../sql-handle.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { isPartitioned } from '../schema/inspect-schema.js';

/** A partition with rows of ids from `from` up to, and without, `to`. */
export interface Partition {
  /** Without its schema. */
  readonly name: string;
  /** Quoted, with its schema. */
  readonly table: string;
  /** Undefined without a lower end. */
  readonly from: bigint | undefined;
  readonly to: bigint;
}

/** How a partitioned queue is divided. */
export interface Partitions {
  /** In the order of their ids. */
  readonly ranges: readonly Partition[];
  /** Quoted, with its schema; undefined when a user has dropped it. */
  readonly fallback: string | undefined;
  /** Id that was given last. */
  readonly lastId: bigint;
}

/** Reads how a queue is divided; undefined for a plain one. */
export async function readPartitions(tx: SqlHandle, tables: QueueTables): Promise<Partitions | undefined> {
  if (!(await isPartitioned(tx, tables))) return undefined;
  const { rows } = await tx.query(
    `-- name: read_partitions
     select c.relname::text as name, n.nspname::text as schema, pg_get_expr(c.relpartbound, c.oid) as bounds
     from pg_inherits i
     join pg_class c on c.oid = i.inhrelid
     join pg_namespace n on n.oid = c.relnamespace
     where i.inhparent = to_regclass($1::text)`,
    [tables.queue],
  );
  const { rows: sequences } = await tx.query(
    `-- name: read_partitions_end
     select coalesce(pg_sequence_last_value(pg_get_serial_sequence($1::text, 'id')::regclass),
       (select max(id) from ${tables.queue}), 0)::text as last`,
    [tables.queue],
  );
  const all = rows.map((row) => ({
    name: String(row['name']),
    table: `${quoteIdentifier(String(row['schema']))}.${quoteIdentifier(String(row['name']))}`,
    bounds: /^FOR VALUES FROM \((?:'(-?\d+)'|MINVALUE)\) TO \('(-?\d+)'\)$/.exec(String(row['bounds'])),
    isDefault: row['bounds'] === 'DEFAULT',
  }));
  const ranges = all.flatMap(({ name, table, bounds }) => {
    const [, from, to] = bounds ?? [];
    return to === undefined
      ? []
      : [{ name, table, from: from === undefined ? undefined : BigInt(from), to: BigInt(to) }];
  });
  return {
    ranges: ranges.toSorted((one, other) => (one.to < other.to ? -1 : 1)),
    fallback: all.find(({ isDefault }) => isDefault)?.table,
    lastId: BigInt(String(sequences[0]?.['last'])),
  };
}
