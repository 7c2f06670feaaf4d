import { takePlace } from '../partitions/build-index.js';
import type { SqlHandle } from '../../sql-handle.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { ownName } from '../schema/schema-objects.js';
import { queueIndexes, schemaVersion, type IndexDefinition } from '../schema/schema.js';
import { dropPartitionedStep, dropStep } from './index-steps.js';
import { qualifiedIndex, type SchemaShape } from './schema-shape.js';
import { locks, shortStep, type Step } from './step.js';

/** Ending of the name of an index that stays for older workers: short, because PostgreSQL cuts long names. */
const keptEnding = '_o';

/**
 * Running workers that were written for older tables: their claims walk older indexes. Without such an index each claim
 * reads all that is pending: 0.15 s with 100,000 tasks.
 */
export async function countOlderWorkers(tx: SqlHandle, { workers }: QueueTables): Promise<number> {
  // As JSON, because an old table of workers lacks some of these columns.
  const { rows } = await tx.query(
    `select count(*)::int as n from (select to_jsonb(w) as w from ${workers} w) one
     where w ->> 'stopped_at' is null and w ->> 'missed_at' is null and coalesce((w ->> 'schema_version')::int, 0) < $1::int`,
    [schemaVersion],
  );
  return Number(rows[0]?.['n']);
}

/** Renames an index that a newer one will replace, so that older workers go on with it. To be called in a transaction. */
export async function keepIndex(tx: SqlHandle, tables: QueueTables, name: string): Promise<void> {
  await takePlace(tx, tables, { successor: name, name: name + keptEnding });
}

/** True for what older workers walk: they need no second unique index, which would refuse what the new one allows. */
export function isKept({ unique }: IndexDefinition): boolean {
  return unique !== true;
}

/** Indexes of older versions are kept while older workers run, and dropped once none does. Answers what is left to be built. */
export function keptIndexSteps(
  tables: QueueTables,
  {
    shape,
    wanted,
    olderWorkers,
    inPartitions,
  }: {
    readonly shape: SchemaShape;
    readonly wanted: SchemaShape;
    readonly olderWorkers: number;
    readonly inPartitions: boolean;
  },
): { readonly steps: readonly Step[]; readonly shape: SchemaShape } {
  const indexes = new Map(shape.indexes);
  const steps: Step[] = [];
  for (const index of queueIndexes.filter(isKept)) {
    const { suffix } = index;
    const name = ownName(tables, suffix);
    const state = shape.indexes.get(suffix);
    const isOutdated = state?.isValid === true && state.definition !== wanted.indexes.get(suffix)?.definition;
    if (isOutdated && olderWorkers > 0) {
      indexes.delete(suffix);
      steps.push(keepStep(tables, name, olderWorkers));
    } else if (shape.indexes.has(suffix + keptEnding) && olderWorkers === 0) {
      steps.push((inPartitions ? dropPartitionedStep : dropStep)(tables, name + keptEnding));
    }
  }
  return { steps, shape: { ...shape, indexes } };
}

function keepStep(tables: QueueTables, name: string, olderWorkers: number): Step {
  const who = `${olderWorkers} running worker${olderWorkers === 1 ? '' : 's'} of an older version`;
  return shortStep(
    `keep the index ${name} as ${name}${keptEnding} for ${who}: run this again when they have stopped, and it is dropped`,
    {
      lock: locks.instant(tables.queue),
      table: tables.queue,
      sql: [`alter index ${qualifiedIndex(tables, name)} rename to ${quoteIdentifier(name + keptEnding)}`],
      work: (tx) => keepIndex(tx, tables, name),
    },
  );
}
