import { hasUniqueKey, keyOrder } from '../schema/schema.js';
import { isQuiet, quietSetting } from '../statement.js';

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
  const isOurs = bell !== 'table';
  return `-- name: insert_many
${isOurs ? `with ${quietSetting(queue)}\n` : ''}insert into ${queue} (${columns})
select ${rowOfMany}
${fromMany('')}${isOurs ? '\ncross join quiet' : ''}
order by t.ord
returning id::text as id`;
}

/** What {@link fromMany} reads, in the order of {@link columns}. */
export const rowOfMany = `due.at, due.at, t.origem, t.destino, t.processo, t.chave_externa, t.payload, convert_to(t.payload_hash, 'UTF8'),
  t.tenant, t.grupo_empresarial, coalesce(t.prioridade, 50), coalesce(t.pub_sub, false), t.metadados`;

/**
 * The tasks of a JSON parameter, the first that is free.
 *
 * @param key its name and type, of tasks with keys
 */
export function fromMany(key: '' | 'chave_unica'): string {
  const [typed, named] = key === '' ? ['', ''] : [', chave_unica text', ', chave_unica'];
  return `from rows from (json_to_recordset($1::text::json) as (data_hora timestamptz, delay_ms float8, origem text, destino text,
  processo text, chave_externa text, payload text, payload_hash text, tenant bigint, grupo_empresarial text,
  prioridade int, pub_sub boolean, metadados jsonb${typed})) with ordinality
  t (data_hora, delay_ms, origem, destino, processo, chave_externa, payload, payload_hash, tenant,
    grupo_empresarial, prioridade, pub_sub, metadados${named}, ord)
cross join lateral (
  select coalesce(t.data_hora, clock_timestamp() + coalesce(t.delay_ms, 0) * interval '1 millisecond') as at
) due`;
}

/** When the task is due, by the first two parameters of a row: the same value wherever a statement uses it. */
export const due = `coalesce($1::text::timestamptz, statement_timestamp() + coalesce($2::float8, 0) * interval '1 millisecond')`;

const oneRow = `${due}, ${due}, $3::text, $4::text, $5::text, $6::text, $7::text, convert_to($8::text, 'UTF8'),
  $9::text::bigint, $10::text, coalesce($11::int, 50), $12::boolean, $13::text::jsonb`;

/** What an insert gives. */
export const columns = `data_hora_inicial, data_hora, origem, destino, processo, chave_externa, payload, payload_hash,
  tenant, grupo_empresarial, prioridade, pub_sub, metadados`;

/** Inserts the row that its parameters make, $1 to $13. */
export const insertRow = (queue: string): string => `insert into ${queue} (${columns})\nvalues (${oneRow})`;

/** A moment early: the task must not be due before the time that the ring names. */
const ring = `ring as materialized (
  select pg_notify($14::text,
    round((floor(extract(epoch from ${due})::float8 * 1000) - 1)::numeric / 1000, 3) || ' ' || $15::text) as sent
)`;

/**
 * Inserts one task, with a parameter per column. A statement that rings has two more: the channel, and the text
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
 * again. Parameters: those of a row, the channel, and the text of the ring after its time.
 *
 * @param name of the function, with its schema, quoted
 */
export function insertByFunction(name: string): string {
  return `-- name: insert_by_function
select ${name}($1::text, $2::float8, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text,
  $9::text, $10::text, $11::int, $12::boolean, $13::text, $14::text, $15::text) as id`;
}

/** Where a row's unique key is taken. */
export const onConflict = `on conflict (chave_unica ${keyOrder}) where ${hasUniqueKey}`;

/**
 * Inserts one task unless another has its unique key, and answers the one that has it. No row: the other was committed while this
 * statement waited for it, so the next one sees it. Never by DO UPDATE: that would lock the other until the transaction ends.
 * Parameters: those of a row, the key.
 */
export const insertUnique = (queue: string): string => `-- name: insert_unique
with made as (
  insert into ${queue} (${columns}, chave_unica)
  values (${oneRow}, $14::text)
  ${onConflict} do nothing
  returning id
)
select id::text as id, true as is_new from made
union all
select coalesce(f.id_inicial, f.id)::text, false from ${queue} f
where f.chave_unica ${keyOrder} = $14::text and ${hasUniqueKey} and not exists (select from made)`;

/**
 * Inserts one task, or puts it in the place of the one that has its unique key and has not started. It rings for both, because
 * nothing is read of the row, so that a producer needs few rights: for what is inserted the table's trigger rings with the same text,
 * and PostgreSQL sends that once. Parameters: those of a row, the key, the channel or null, the text of the ring after its time.
 */
export const insertOrReplace = (queue: string): string => `-- name: insert_or_replace
with made as (
  insert into ${queue} (${columns}, chave_unica)
  values (${oneRow}, $14::text)
  ${onConflict} do update set (${columns}, status) = (${oneRow},
    case when ${due} > clock_timestamp() then 'agendada' else 'pendente' end)
  returning id
)
select id::text as id, (
  select pg_notify($15::text, floor(extract(epoch from greatest(${due}, 'epoch')))::bigint || ' ' || $16::text)
  where $15::text is not null and ${due} < 'infinity' and not ${isQuiet}
) is not null as rung
from made`;

/**
 * {@link insertMany} of tasks of which some have unique keys: answers also who has the keys that were taken. Keys are inserted in
 * their order, so that two such statements wait for each other in one direction.
 */
export const insertManyUnique = (queue: string): string => `-- name: insert_many_unique
with made as (
  insert into ${queue} (${columns}, chave_unica)
  select ${rowOfMany}, t.chave_unica
  ${fromMany('chave_unica')}
  order by t.chave_unica ${keyOrder} nulls first, t.ord
  ${onConflict} do nothing
  returning id, chave_unica
)
select id::text as id, chave_unica as key from made
union all
select coalesce(f.id_inicial, f.id)::text, f.chave_unica from ${queue} f
where f.chave_unica ${keyOrder} = any(array(
    select t.chave_unica from json_to_recordset($1::text::json) t (chave_unica text) where t.chave_unica is not null
  ))
  and ${hasUniqueKey} and not exists (select from made m where m.chave_unica = f.chave_unica)`;
