import { TarefaError } from '../../../errors.js';
import type { SqlHandle } from '../../sql-handle.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { fillFactor } from '../schema/schema-objects.js';
import { liftLimit } from './id-limit.js';
import { defaultPartitionIds } from '../../../options/table-layout.js';
import { partitionName } from './partitioned-layout.js';
import { readPartitions, type Partitions } from './read-partitions.js';
import { codeOf, shortTransaction, type RunTransaction } from './short-transaction.js';

/** Partitions that are kept ready ahead of need. */
const ahead = 2n;
/** Made by one call at most. */
const most = 32;

/**
 * Makes the partitions that will be needed next, while the queue is used: the queue table stays usable, the default
 * partition is locked for a moment. Returns the id that was given last, for the next call.
 *
 * @param lastSeen last id at the previous call: partitions are made for twice as many ids as were given since
 * @throws {TarefaError} `SCHEMA_BUSY`, `SCHEMA_CONFLICT` when rows go to the default partition meanwhile
 */
export async function makePartitions(
  run: RunTransaction,
  tables: QueueTables,
  lastSeen?: bigint,
): Promise<bigint | undefined> {
  for (let made = 0; ; made += 1) {
    const partitions = await run((tx) => readPartitions(tx, tables));
    if (!partitions) {
      await liftLimit(run, tables);
      return undefined;
    }
    const { lastId } = partitions;
    const { from, to } = nextRange(partitions);
    const used = lastId - (lastSeen ?? lastId);
    if (made === most || from >= lastId + larger(ahead * (to - from), 2n * used)) return lastId;
    try {
      const done = await shortTransaction(run, (tx) => attach(tx, tables, partitions, { from, to }));
      if (done === undefined) throw late(tables, 'other sessions were using it all the time');
    } catch (error) {
      // No task waits for it while some partitions are left.
      if (hasRoom(partitions)) return lastId;
      throw explain(error, tables);
    }
  }
}

interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

/** As wide as the last one; behind what may be in the default partition by then. */
function nextRange({ ranges, lastId }: Partitions): Range {
  const last = ranges.at(-1);
  const every = last?.from === undefined ? BigInt(defaultPartitionIds) : last.to - last.from;
  const end = last?.to ?? 0n;
  const from = end > lastId ? end : (lastId / every + 2n) * every;
  return { from, to: from + every };
}

function hasRoom({ ranges, lastId }: Partitions): boolean {
  return (ranges.at(-1)?.to ?? 0n) > lastId + 1n;
}

/** Made as a table and then attached, because creating it as a partition would lock out every session. */
async function attach(
  tx: SqlHandle,
  tables: QueueTables,
  { ranges }: Partitions,
  { from, to }: Range,
): Promise<true> {
  const { queue, quotedSchema } = tables;
  const name = quoteIdentifier(partitionName(tables, await freeNumber(tx, tables, ranges.length)));
  await tx.query(
    `create table ${quotedSchema}.${name} (like ${queue} including all) with (fillfactor = ${fillFactor})`,
  );
  await tx.query(
    `alter table ${queue} attach partition ${quotedSchema}.${name} for values from (${from}) to (${to})`,
  );
  return true;
}

/** The number after the last partition's, even when that was dropped. */
async function freeNumber(tx: SqlHandle, tables: QueueTables, count: number): Promise<number> {
  const { rows } = await tx.query(
    `select coalesce(max(substring(c.relname from length($2::text) + 1)::bigint), 0) + 1 as free
     from pg_class c
     where c.relnamespace = to_regnamespace($1::text) and c.relkind in ('r', 'p')
       and left(c.relname, length($2::text)) = $2::text and substring(c.relname from length($2::text) + 1) ~ '^[0-9]{1,9}$'`,
    [tables.quotedSchema, partitionName(tables, 0).slice(0, -1)],
  );
  return Math.max(count + 1, Number(rows[0]?.['free']));
}

function explain(error: unknown, tables: QueueTables): unknown {
  switch (codeOf(error)) {
    case '42501':
      return late(tables, 'this role does not own it', error);
    case '57014':
    case '23514':
      return late(tables, 'its default partition holds too many rows', error);
    default:
      return error;
  }
}

function late({ qualifiedName }: QueueTables, why: string, cause?: unknown): TarefaError {
  return new TarefaError(
    'SCHEMA_BUSY',
    `${qualifiedName} gets no new partitions, because ${why}: new tasks go to its default partition, which is purged row by row. ` +
      `Run \`npx tarefa migrate --partition\` as its owner`,
    { cause },
  );
}

const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other);
