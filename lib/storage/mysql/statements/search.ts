import { column } from '../../columns.js';
import { longestText } from '../../reports.js';
import { idList, idParameter } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import { ownPayload, type Conditions } from '../task-conditions.js';

// Looks for attempts in a table of any size: each statement walks one index and looks at a limited number of rows.

type Queue = Pick<QueueTables, 'queue'>;

/** Attempts that wait or run are listed by their indexes while there are not more of a status. */
export const liveLimit = 20_000;

/** A select list of all columns of an attempt, some of them replaced. The library's own connections answer all values as text. */
function fieldsOf(instead: Readonly<Record<string, string>>): string {
  return Object.values(column)
    .map((name) => (instead[name] === undefined ? `f.${name}` : `${instead[name]} as ${name}`))
    .join(', ');
}

/** Lists leave out texts that they do not show. */
const short = { [column.result]: 'null', [column.error]: 'null', [column.metadata]: 'null' };

const listed = (queue: string, withPayload: boolean): string =>
  fieldsOf({ ...short, [column.payload]: withPayload ? ownPayload(queue) : 'null' });

/** The least and the greatest id; null in an empty table. */
export const idBounds = ({ queue }: Queue): string =>
  named('search_bounds', `select min(f.id) as least, max(f.id) as greatest from ${queue} f`);

/** The greatest existing id up to another one, because ids may be far apart. Parameters: greatest id. */
export const idUpTo = ({ queue }: Queue): string =>
  named('search_id', `select max(f.id) as id from ${queue} f where f.id <= ${idParameter}`);

/**
 * Attempts of a range of ids, the newest first. Parameters: those that stand before, greatest id, least id, those of the conditions,
 * how many.
 */
export const searchRange = (
  { queue }: Queue,
  { begin, conditions }: Conditions,
  withPayload: boolean,
): string =>
  named(
    'search_range',
    `
select ${listed(queue, withPayload)}
from ${begin}${queue} f force index (primary)
where ${[`f.id <= ${idParameter}`, `f.id >= ${idParameter}`, ...conditions].join('\n  and ')}
order by f.id desc
limit ?`,
  );

/** Which index has all attempts of a status, and none else. */
const liveIndexes = {
  pendente: { index: 'ready', column: 'rota_pronta' },
  agendada: { index: 'scheduled', column: 'agendada_em' },
  processando: { index: 'running', column: 'executor_ativo' },
} as const;

/** A status of what waits or runs, in the table's words. */
export type LiveStatus = keyof typeof liveIndexes;

/** Ids of the attempts with that status, at most one more than {@link liveLimit}. */
export const liveIds = ({ queue }: Queue, status: LiveStatus): string => {
  const { index, column: marked } = liveIndexes[status];
  return named(
    'search_live',
    `select f.id from ${queue} f force index (${index}) where f.${marked} is not null limit ${liveLimit + 1}`,
  );
};

/**
 * Listed attempts up to an id, the newest first. Parameters: those that stand before, ids, greatest id, those of the conditions, how
 * many.
 */
export const searchIds = ({ queue }: Queue, { begin, conditions }: Conditions): string =>
  named(
    'search_ids',
    `
select ${listed(queue, false)}
from ${begin}${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
where ${[`f.id <= ${idParameter}`, ...conditions].join('\n  and ')}
order by f.id desc
limit ?`,
  );

/** Indexes that lead to few attempts. */
export type NarrowIndex = 'primary' | 'deliveries' | 'equivalent';

/**
 * By conditions that an index of few rows answers. Parameters: those that stand before, greatest id, those of the conditions, how
 * many.
 */
export const searchIndexed = (
  { queue }: Queue,
  index: NarrowIndex,
  { begin, conditions }: Conditions,
): string =>
  named(
    'search_indexed',
    `
select ${listed(queue, false)}
from ${begin}${queue} f force index (${index})
where ${[`f.id <= ${idParameter}`, ...conditions].join('\n  and ')}
order by f.id desc
limit ?`,
  );

/** Attempts with an external key in the index of these; attempts with another status have failed, or run. Parameters: key. */
export const isKeyed = 'f.equivalente = cast(? as binary)';
export const unkeyedStatuses = `f.status not in ('pendente', 'agendada', 'sucesso')`;

const cut = {
  [column.payload]: 'null',
  [column.result]: `left(f.resultado, ${longestText})`,
  [column.error]: `left(f.erro, ${longestText})`,
};

/** Attempts, the newest first, with their long texts cut. Parameters: ids. */
export const cutAttempts = ({ queue }: Queue): string =>
  named(
    'last_attempts',
    `
select ${fieldsOf(cut)}, char_length(f.resultado) as result_length, char_length(f.erro) as error_length
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
order by f.id desc`,
  );

/** The payload of a task, unless it is larger than the given bytes. Parameters: bytes, id of any attempt. */
export const searchPayload = ({ queue }: Queue): string =>
  named(
    'search_payload',
    `
select octet_length(own.payload) as bytes, case when octet_length(own.payload) <= ? then own.payload end as payload, own.subscriber_id
from (select ${ownPayload(queue)} as payload, f.subscriber_id from ${queue} f where f.id = ${idParameter}) own`,
  );
