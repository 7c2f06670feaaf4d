import { TarefaError } from '../../../errors.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { partitionedIndexes } from '../partitions/partitioned-layout.js';
import { isPartitioned } from '../schema/inspect-schema.js';
import { buildPartitionedIndex, takePlace } from '../partitions/build-index.js';
import { indexSql, ownName } from '../schema/schema-objects.js';
import { queueIndexes, type IndexDefinition } from '../schema/schema.js';
import { qualifiedIndex, readShape, type SchemaShape } from './schema-shape.js';
import type { SchemaSession } from './schema-session.js';
import { locks, type Step } from './step.js';

/** Ending of the name of an index that will take another one's place: short, because PostgreSQL cuts long names. */
const successorEnding = '_n';

/** Builds the indexes that are missing, invalid or of another definition, while the table is used. */
export function indexSteps(
  tables: QueueTables,
  found: SchemaShape,
  wanted: SchemaShape,
  inPartitions: boolean,
): readonly Step[] {
  if (inPartitions) return partitionedSteps(tables, found, wanted);
  return queueIndexes.flatMap((index) => {
    const definition = wanted.indexes.get(index.suffix)?.definition ?? '';
    const leftOver = found.indexes.has(index.suffix + successorEnding);
    const state = found.indexes.get(index.suffix);
    if (state?.isValid === true && state.definition === definition) {
      return leftOver ? [dropStep(tables, ownName(tables, index.suffix) + successorEnding)] : [];
    }
    return [
      state?.isValid === true ? replaceStep(tables, index, definition) : buildStep(tables, index, definition),
    ];
  });
}

/** PostgreSQL builds no index of a partitioned table concurrently: each partition gets one, and these become its parts. */
function partitionedSteps(tables: QueueTables, found: SchemaShape, wanted: SchemaShape): readonly Step[] {
  return partitionedIndexes.flatMap((index) => {
    const { suffix } = index;
    const definition = wanted.indexes.get(suffix)?.definition ?? '';
    const state = found.indexes.get(suffix);
    if (state?.isValid !== true || state.definition !== definition) {
      return [replacePartitionedStep(tables, index, definition)];
    }
    const successor = ownName(tables, suffix) + successorEnding;
    return found.indexes.has(suffix + successorEnding) ? [dropPartitionedStep(tables, successor)] : [];
  });
}

/** Beside an old one as well as where none is, so that an interruption leaves nothing under the name. */
function replacePartitionedStep(tables: QueueTables, index: IndexDefinition, definition: string): Step {
  const name = ownName(tables, index.suffix);
  const successor = name + successorEnding;
  const suffix = index.suffix + successorEnding;
  return {
    what: `build the index ${name} of each partition`,
    lock:
      `SHARE UPDATE EXCLUSIVE on one partition of ${tables.queue} after another: reads and writes continue meanwhile; ` +
      `before that SHARE on the queue, and after it ${locks.instant(tables.queue)}`,
    // Partitions come and go until then, so their statements are not known yet.
    sql: [],
    run: async (session) => {
      const state = (await readShape(session, tables)).indexes.get(suffix);
      if (state && state.definition !== definition) await dropPartitioned(session, tables, successor);
      await build(session, tables, index, { suffix, definition });
      await session.short(`renaming ${successor}`, tables.queue, (tx) =>
        takePlace(tx, tables, { successor, name }),
      );
    },
  };
}

/** Drops an index of a partitioned table. */
function dropPartitionedStep(tables: QueueTables, name: string): Step {
  return {
    what: `drop the index ${name}`,
    lock: locks.instant(tables.queue),
    sql: [`drop index if exists ${qualifiedIndex(tables, name)}`],
    run: (session) => dropPartitioned(session, tables, name),
  };
}

async function dropPartitioned(session: SchemaSession, tables: QueueTables, name: string): Promise<void> {
  await session.short(`dropping ${name}`, tables.queue, (tx) =>
    tx.query(`drop index if exists ${qualifiedIndex(tables, name)}`),
  );
}

/** Builds an index while the table is used; a valid one stays. */
export function buildStep(tables: QueueTables, index: IndexDefinition, definition: string): Step {
  const name = ownName(tables, index.suffix);
  return {
    what: `build the index ${name}`,
    lock: locks.online(tables.queue),
    sql: [indexSql(tables, index, { concurrently: true })],
    run: (session) => build(session, tables, index, { suffix: index.suffix, definition }),
  };
}

/** Builds the new one beside the old one, which stays in use until then. */
function replaceStep(tables: QueueTables, index: IndexDefinition, definition: string): Step {
  const name = ownName(tables, index.suffix);
  const successor = name + successorEnding;
  const swap = [
    `drop index ${qualifiedIndex(tables, name)}`,
    `alter index ${qualifiedIndex(tables, successor)} rename to ${quoteIdentifier(name)}`,
  ];
  return {
    what: `rebuild the index ${name}, which differs`,
    lock: `${locks.online(tables.queue)}; then ${locks.instant(tables.queue)}`,
    sql: [indexSql(tables, index, { concurrently: true, name: successor }), ...swap],
    run: async (session) => {
      await build(session, tables, index, { suffix: index.suffix + successorEnding, definition });
      await session.short(`renaming ${successor}`, tables.queue, async (tx) => {
        for (const text of swap) await tx.query(text);
      });
    },
  };
}

/** Drops an index while the table is used. */
export function dropStep(tables: QueueTables, name: string): Step {
  const sql = `drop index concurrently if exists ${qualifiedIndex(tables, name)}`;
  return {
    what: `drop the index ${name}`,
    lock: locks.online(tables.queue),
    sql: [sql],
    run: (session) => session.alone(sql),
  };
}

/** An interrupted build leaves an invalid index, which costs writes and serves no query: it is built again. */
async function build(
  session: SchemaSession,
  tables: QueueTables,
  index: IndexDefinition,
  { suffix, definition }: { readonly suffix: string; readonly definition: string },
): Promise<void> {
  const name = ownName(tables, suffix);
  const drop = `drop index concurrently if exists ${qualifiedIndex(tables, name)}`;
  const state = (await readShape(session, tables)).indexes.get(suffix);
  if (state?.isValid === true && state.definition === definition) return;
  if (await isPartitioned(session, tables)) return buildPartitionedIndex(session, tables, index, name);
  if (state) await session.alone(drop);
  try {
    await session.alone(indexSql(tables, index, { concurrently: true, name }));
  } catch (error) {
    const { code, detail } = error as { readonly code?: unknown; readonly detail?: unknown };
    if (code === '42P07') throw taken(tables, name, error);
    if (code !== '23505') throw error;
    await session.alone(drop);
    throw new TarefaError(
      'SCHEMA_CONFLICT',
      `${tables.qualifiedName} holds duplicate attempts, so ${name} cannot be built (${String(detail)}): ` +
        `\`npx tarefa adopt ${tables.qualifiedName}\` shows which, and tells them apart`,
      { cause: error },
    );
  }
}

function taken({ qualifiedName }: QueueTables, name: string, cause: unknown): TarefaError {
  return new TarefaError(
    'SCHEMA_CONFLICT',
    `the name ${name} belongs to something other than an index of ${qualifiedName}: rename or drop it`,
    { cause },
  );
}
