import { messageOf } from '../connections/connection-config.js';
import { quoteLiteral, type QueueTables } from '../identifiers.js';
import type { RunTransaction } from '../partitions/short-transaction.js';

// A dump of the data alone, a copy, or a change to a replica of logical replication leaves the sequence behind the ids that
// are there: then inserts are refused until it has passed them. Whoever copied them says whether it shall: the sequence is not
// the worker's to set, and ids far ahead may be kept apart on purpose.

type Queue = Pick<QueueTables, 'queue' | 'qualifiedName'>;

const sequenceOf = ({ queue }: Queue): string => `pg_get_serial_sequence(${quoteLiteral(queue)}, 'id')`;

/** Sets the sequence behind the highest id, or where it is: never back. To be run by its owner. */
export function mendSequence(tables: Queue): string {
  const sequence = sequenceOf(tables);
  return `select setval(${sequence}, greatest(nextval(${sequence}), max(id))) from ${tables.queue}`;
}

/** Says why the id of a row of the library's was refused, and what to do; other errors pass unchanged. */
export function explainTakenId(
  error: unknown,
  tables: Queue & Pick<QueueTables, 'schema' | 'table'>,
): unknown {
  const { code, detail, schema, table } = (error ?? {}) as Readonly<Record<string, unknown>>;
  // Of this table, or of a partition: a trigger may have met another one.
  const isHere = schema === tables.schema && `${String(table)}_`.startsWith(`${tables.table}_`);
  // Every language of the server's has the column and its value in it.
  const [, id] = (code === '23505' && isHere && /\(id\)=\((-?\d+)\)/.exec(String(detail))) || [];
  if (id === undefined) return error;
  const text = `id ${id} of ${tables.qualifiedName} is already taken: the sequence is behind the ids. Run as its owner \`${mendSequence(tables)}\``;
  return Object.assign(new Error(text, { cause: error }), { code });
}

/** Warns of a sequence that is behind the highest id. Asks nothing that this role may not read. */
export async function idWarnings(run: RunTransaction, tables: Queue): Promise<readonly string[]> {
  try {
    return await run(async (tx) => {
      // A start must not wait long for a table in use.
      await tx.query(`set local lock_timeout = '2s'`);
      const { rows: sequences } = await tx.query(findSequence(tables));
      const [{ name, readable } = {}] = sequences;
      if (typeof name !== 'string') return [];
      const { rows } = await tx.query(compareIds(tables, name, readable === true));
      return rows.map(
        ({ next, highest }) =>
          `the sequence ${name} will return id ${String(next)} next, but ${tables.qualifiedName} has ids up to ${String(highest)}: ` +
          `rows that get an id that is already taken cannot be inserted. Run as its owner \`${mendSequence(tables)}\``,
      );
    });
  } catch (error) {
    return [
      `could not check whether the ids of ${tables.qualifiedName} are ahead of their sequence: ${messageOf(error)}`,
    ];
  }
}

/** A sequence that steps over ids leaves them to others. */
const findSequence = (tables: Queue): string => `-- name: find_sequence
select s.name, has_sequence_privilege(s.name, 'select') as readable
from (select ${sequenceOf(tables)} as name) s
join pg_sequence q on q.seqrelid = s.name::regclass and q.seqincrement = 1
where has_table_privilege(${quoteLiteral(tables.queue)}, 'select')
  and has_sequence_privilege(s.name, 'usage, select')`;

/** The highest id is read by the statement's snapshot, and the sequence as it is after that: whoever inserts meanwhile is not told of. */
const compareIds = ({ queue }: Queue, sequence: string, readable: boolean): string => `-- name: compare_ids
select (s.last + 1)::text as next, h.highest::text as highest
from (select max(id) as highest from ${queue}) h,
  (select ${
    readable
      ? `last_value - (not is_called)::int as last from ${sequence}`
      : // Null before the first id and after a restart, so that nothing is said then.
        `pg_sequence_last_value(${quoteLiteral(sequence)}::regclass) as last`
  }) s
where s.last < h.highest`;
