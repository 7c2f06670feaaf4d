import { defaultPartitionIds } from '../../../options/table-layout.js';
import { quoteIdentifier, quoteLiteral, type QueueTables } from '../identifiers.js';
import { addColumnsSql, columnSql, fillFactor, indexSql, ownName } from '../schema/schema-objects.js';
import type { TableLayout } from '../schema/schema-statements.js';
import { contractColumns, ownColumns, queueIndexes, type IndexDefinition } from '../schema/schema.js';

/** Partitions of a new queue, besides the default one. */
const firstPartitions = 2;

/**
 * The indexes of a partitioned queue. Only the primary key can be unique there, because the others do not hold the id.
 * Statements that insert successors, dead chains and deliveries lock the row that they follow from instead.
 */
export const partitionedIndexes: readonly IndexDefinition[] = queueIndexes.map(({ suffix, on, where }) => ({
  suffix,
  on,
  ...(where === undefined ? {} : { where }),
}));

/**
 * One table partitioned by ranges of ids, so that purge can drop old ranges whole. A default partition takes all other ids,
 * so no insert fails because a partition is missing.
 *
 * @param every ids of one partition
 */
export function partitionedLayout(every = defaultPartitionIds): TableLayout {
  return {
    indexes: partitionedIndexes,
    statements: (tables) => [
      parentTableSql(tables),
      addColumnsSql(tables.queue, ownColumns),
      ...partitionedIndexes.map((index) => indexSql(tables, index)),
      firstPartitionsSql(tables, every),
    ],
  };
}

/** The partitioned table itself, which holds no rows. */
export function parentTableSql({ queue }: QueueTables): string {
  const id = { name: 'id', type: 'bigserial', rest: 'primary key' };
  const columns = [id, ...contractColumns.slice(1), ...ownColumns].map(columnSql).join(',\n  ');
  return `create table if not exists ${queue} (\n  ${columns}\n) partition by range (id)`;
}

/** The name of a partition, without its schema. */
export function partitionName(tables: QueueTables, number: number | 'default'): string {
  return ownName(tables, number === 'default' ? 'default' : `p${number}`);
}

/** Makes none where a queue has some already: purged partitions are not made again. */
function firstPartitionsSql(tables: QueueTables, every: number): string {
  const { queue, quotedSchema } = tables;
  const make = (name: string, bounds: string): string =>
    `    create table ${quotedSchema}.${quoteIdentifier(name)} partition of ${queue} ${bounds} with (fillfactor = ${fillFactor});`;
  const ranges = Array.from({ length: firstPartitions }, (_, index) =>
    make(
      partitionName(tables, index + 1),
      `for values from (${BigInt(index) * BigInt(every)}) to (${BigInt(index + 1) * BigInt(every)})`,
    ),
  );
  return `do $$ begin
  if not exists (select from pg_inherits where inhparent = ${quoteLiteral(queue)}::regclass) then
${[...ranges, make(partitionName(tables, 'default'), 'default')].join('\n')}
  end if;
end $$`;
}
