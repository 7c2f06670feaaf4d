import { quietSetting } from '../statement.js';

/**
 * Who rings for an insert: the table's trigger when its transaction commits; the library, afterwards and for many at
 * once; or the statement itself, which saves a single insert a round trip.
 */
export type Bell = 'table' | 'afterwards' | 'statement';

/**
 * Inserts tasks from one JSON parameter: an array of objects whose keys are the table's columns. One
 * parameter beats arrays and COPY (232,000 rows a second against 160,000 and 194,000).
 *
 * What is left out falls back to the contract's defaults. `delay_ms` counts from the database's clock. A time
 * given for the first attempt is also when the chain was first due. `status` is left to the table: its
 * trigger files future tasks as scheduled.
 *
 * @param queue quoted table name
 */
export function insertMany(queue: string, bell: Bell): string {
  const isQuiet = bell !== 'table';
  return `-- name: insert_many
${isQuiet ? `with ${quietSetting(queue)}\n` : ''}insert into ${queue} (${columns})
select due.at, due.at, t.origem, t.destino, t.processo, t.chave_externa, t.payload, convert_to(t.payload_hash, 'UTF8'),
  t.tenant, t.grupo_empresarial, coalesce(t.prioridade, 50), coalesce(t.pub_sub, false), t.metadados
from rows from (json_to_recordset($1::text::json) as (data_hora timestamptz, delay_ms float8, origem text, destino text,
  processo text, chave_externa text, payload text, payload_hash text, tenant bigint, grupo_empresarial text,
  prioridade int, pub_sub boolean, metadados jsonb)) with ordinality
  t (data_hora, delay_ms, origem, destino, processo, chave_externa, payload, payload_hash, tenant,
    grupo_empresarial, prioridade, pub_sub, metadados, ord)
cross join lateral (
  select coalesce(t.data_hora, clock_timestamp() + coalesce(t.delay_ms, 0) * interval '1 millisecond') as at
) due${isQuiet ? '\ncross join quiet' : ''}
order by t.ord
returning id::text as id`;
}

/** When the task is due, by the first two parameters of a row: the same value wherever a statement uses it. */
export const due = `coalesce($1::text::timestamptz, statement_timestamp() + coalesce($2::float8, 0) * interval '1 millisecond')`;

const oneRow = `${due}, ${due}, $3::text, $4::text, $5::text, $6::text, $7::text, convert_to($8::text, 'UTF8'),
  $9::text::bigint, $10::text, coalesce($11::int, 50), $12::boolean, $13::text::jsonb`;

const columns = `data_hora_inicial, data_hora, origem, destino, processo, chave_externa, payload, payload_hash,
  tenant, grupo_empresarial, prioridade, pub_sub, metadados`;

/** Inserts the row that its parameters make, $1 to $13. */
export const insertRow = (queue: string): string => `insert into ${queue} (${columns})\nvalues (${oneRow})`;

/** A moment early: the task must not be due before the time that the ring names. */
const ring = `ring as materialized (
  select pg_notify($14::text,
    round((floor(extract(epoch from ${due})::float8 * 1000) - 1)::numeric / 1000, 3) || ' ' || $15::text) as sent
)`;

/**
 * Inserts one task: the same with a parameter per column. A statement that rings has two more: the channel, and the text
 * after the time.
 *
 * In a user's transaction it is planned each time, because a named statement may not survive there: {@link insertByFunction}.
 */
export function insertOne(queue: string, bell: Bell): string {
  if (bell === 'table') return `-- name: insert_one\n${insertRow(queue)}\nreturning id::text as id`;
  const parts = [quietSetting(queue), ...(bell === 'statement' ? [ring] : [])];
  const from = bell === 'statement' ? 'quiet, ring' : 'quiet';
  return `-- name: insert_one
with ${parts.join(',\n')}
insert into ${queue} (${columns})
select ${oneRow}
from ${from}
returning id::text as id`;
}

/**
 * Inserts one task by the queue's function, whose plans are kept by the session: half the time of a statement that is planned
 * anew. Parameters: those of a row, the channel, and the text of the ring after its time.
 *
 * @param name of the function, with its schema, quoted
 */
export function insertByFunction(name: string): string {
  return `-- name: insert_by_function
select ${name}($1::text, $2::float8, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
  $9::text, $10::text, $11::int, $12::boolean, $13::text, $14::text, $15::text) as id`;
}
