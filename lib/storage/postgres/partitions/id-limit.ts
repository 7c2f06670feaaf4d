import type { SqlHandle } from '../../sql-handle.js';
import { readText } from '../../columns.js';
import { quoteIdentifier, type QueueTables } from '../identifiers.js';
import { ownName } from '../schema/schema-objects.js';
import { shortTransaction, type RunTransaction } from './short-transaction.js';

// A table that is about to become the first partition gets a constraint that its ids stay below that partition's end,
// so that attaching it reads no row. Until then it would refuse what comes behind.

/** Ids that the table may still get until then: days or years, for what takes minutes. */
export const idRoom = 10_000_000n;

/** The existing constraint. */
export interface IdLimit {
  /** Ids are below. */
  readonly end: bigint;
  /** True when all rows were checked. */
  readonly isValid: boolean;
}

/** Name of the constraint in SQL. */
export const quotedLimit = (tables: QueueTables): string => quoteIdentifier(ownName(tables, 'id_limit'));

/** Undefined unless a conversion has begun. */
export async function readLimit(tx: SqlHandle, tables: QueueTables): Promise<IdLimit | undefined> {
  const { rows } = await tx.query(
    `select pg_get_constraintdef(c.oid) as definition, c.convalidated as valid
     from pg_constraint c
     where c.conname = $1::text and c.conrelid = to_regclass($2::text)`,
    [ownName(tables, 'id_limit'), tables.queue],
  );
  const end = /id < \(?'?(\d+)/.exec(readText(rows[0]?.['definition']) ?? '')?.[1];
  return end === undefined ? undefined : { end: BigInt(end), isValid: rows[0]?.['valid'] === true };
}

/** Removes the limit of an abandoned conversion before the table's ids come near it. */
export async function liftLimit(run: RunTransaction, tables: QueueTables): Promise<void> {
  const limit = await run((tx) => readLimit(tx, tables));
  if (!limit) return;
  const { rows } = await run((tx) =>
    tx.query(
      `select coalesce(pg_sequence_last_value(pg_get_serial_sequence($1::text, 'id')::regclass), 0)::text as last`,
      [tables.queue],
    ),
  );
  if (BigInt(String(rows[0]?.['last'])) + idRoom / 2n < limit.end) return;
  await shortTransaction(run, (tx) =>
    tx.query(`alter table ${tables.queue} drop constraint if exists ${quotedLimit(tables)}`),
  );
}
