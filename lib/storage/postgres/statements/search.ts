import { longestText } from '../../reports.js';
import { column, recordFields } from '../../columns.js';
import type { QueueTables } from '../identifiers.js';
import { routeExpression } from '../statement.js';
import { payloadOf } from './admin.js';

// Looks for attempts in a table of any size: each statement walks one index and looks at a limited number of rows.

type Queue = Pick<QueueTables, 'queue'>;

/** Attempts that wait or run are listed by their indexes while there are not more of a status. */
export const liveLimit = 20_000;

/** Lists leave out texts that they do not show. */
const short = {
  [column.result]: 'null::text',
  [column.error]: 'null::text',
  [column.metadata]: 'null::text',
};

const fields = recordFields('f', 'null::text', short);

const fieldsWithPayload = (queue: string): string => recordFields('f', payloadOf(queue, true), short);

/**
 * Settings of that transaction; PostgreSQL takes no parameter for them. They also forbid plans made for a table that has
 * grown since.
 */
export const searchSettings = (timeoutMs: number): string => `set transaction read only;
set local statement_timeout = ${Math.round(timeoutMs)};
set local enable_seqscan = off;
set local jit = off`;

/** Forbids the planner everything but a walk backwards through the primary key. */
export const walkBackwards = `set local enable_bitmapscan = off;
set local enable_sort = off`;

/** The least and the greatest id; null in an empty table. */
export const idBounds = ({ queue }: Queue): string => `-- name: search_bounds
select (select f.id from ${queue} f order by f.id limit 1)::text as first,
  (select f.id from ${queue} f order by f.id desc limit 1)::text as last`;

/** The greatest existing id up to another one, because ids may be far apart. Parameters: greatest id. */
export const idUpTo = ({ queue }: Queue): string => `-- name: search_id
select f.id::text as id from ${queue} f where f.id <= $1::text::bigint order by f.id desc limit 1`;

/**
 * Attempts of a range of ids, the newest first. Parameters: greatest id, least id, how many, then those of the conditions.
 */
export const searchRange = (
  { queue }: Queue,
  conditions: readonly string[],
  withPayload: boolean,
): string => `-- name: search_range
select ${withPayload ? fieldsWithPayload(queue) : fields}
from ${queue} f
where ${['f.id <= $1::text::bigint', 'f.id >= $2::text::bigint', ...conditions].join('\n  and ')}
order by f.id desc
limit $3::int`;

/** In which order each of their indexes is walked. */
const liveOrder = {
  pendente: `${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id`,
  agendada: 'f.data_hora, f.id',
  processando: 'f.executor',
} as const;

/** A status of what waits or runs, in the table's words. */
export type LiveStatus = keyof typeof liveOrder;

/** Ids of the attempts with that status, at most one more than {@link liveLimit}. */
export const liveIds = ({ queue }: Queue, status: LiveStatus): string => `-- name: search_live
select array_agg(one.id)::text[] as ids
from (
  select f.id from ${queue} f where f.status = '${status}' order by ${liveOrder[status]} limit ${liveLimit + 1}
) one`;

/** Listed attempts up to an id, the newest first. Parameters: ids, greatest id, how many, then those of the conditions. */
export const searchIds = ({ queue }: Queue, conditions: readonly string[]): string => `-- name: search_ids
select ${fields}
from ${queue} f
where ${['f.id = any($1::text[]::bigint[])', 'f.id <= $2::text::bigint', ...conditions].join('\n  and ')}
order by f.id desc
limit $3::int`;

/** By conditions that an index of few rows answers. Parameters: greatest id, how many, then those of the conditions. */
export const searchIndexed = (
  { queue }: Queue,
  conditions: readonly string[],
): string => `-- name: search_indexed
select ${fields}
from ${queue} f
where ${['f.id <= $1::text::bigint', ...conditions].join('\n  and ')}
order by f.id desc
limit $2::int`;

/** Statuses in the index of external keys; attempts with another status have failed, or run. */
export const keyedStatuses = `f.status in ('pendente', 'agendada', 'sucesso')`;
export const unkeyedStatuses = `f.status not in ('pendente', 'agendada', 'sucesso')`;

const cut = {
  [column.result]: `left(f.resultado, ${longestText})`,
  [column.error]: `left(f.erro, ${longestText})`,
};

/** The last attempts of the task that an attempt belongs to, the newest first. Parameters: id of any attempt, how many. */
export const lastAttempts = ({ queue }: Queue): string => `-- name: last_attempts
with asked as materialized (
  select coalesce(a.id_inicial, a.id) as first_id from ${queue} a where a.id = $1::text::bigint
)
select ${recordFields('f', 'null::text', cut)}, length(f.resultado) as result_length, length(f.erro) as error_length,
  count(*) over ()::int as total
from asked, ${queue} f
where f.id = asked.first_id or f.id_inicial = asked.first_id
order by f.id desc
limit $2::int`;

/** The payload of a task, unless it is larger than the given bytes. Parameters: id of any attempt, bytes. */
export const searchPayload = ({ queue }: Queue): string => `-- name: search_payload
select octet_length(own.payload) as bytes, case when octet_length(own.payload) <= $2::int then own.payload end as payload,
  own.subscriber_id
from (
  select coalesce(a.payload, first.payload) as payload, a.subscriber_id
  from ${queue} a left join ${queue} first on first.id = a.id_inicial
  where a.id = $1::text::bigint
) own`;
