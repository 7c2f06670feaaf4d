import {
  isolatedPrefix,
  isolatingLosses,
  keySeparator,
  publicationRoute,
  subscriptionPrefix,
  topicPrefix,
} from '../route.js';
import { quoteLiteral, type QueueTables } from './identifiers.js';

/** Puts the name of a statement in its first line, so that the server's logs and views show it. */
export function named(name: string, text: string): string {
  return `-- name: ${name}\n${text.trim()}`;
}

/** The variable of a session that names the queue into which the library itself inserts. */
const insertsVariable = '@tarefa_inserts';

/** What is inserted into the queue from here on is the library's own: as it should be, so that the table's trigger leaves it alone. */
export const beginInserts = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  `set ${insertsVariable} = ${quoteLiteral(queue)}`;

/** Ends that. */
export const endInserts = `set ${insertsVariable} = null`;

/** True in the trigger of a queue for rows that the library itself inserts, and not for those of another queue's triggers. */
export const isInsertOfOurs = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  `(convert(${insertsVariable} using utf8mb4) collate utf8mb4_bin <=> ${quoteLiteral(queue)})`;

/** Counters are clamped, because SQL from outside may have put them at their maximum. One more than a claim counter. */
export const nextReservation = (row: string): string => `${row}reserva % 2147483647 + 1`;

/** Publications go one way, deliveries by subscription, other tasks by topic. */
export const plainRouteOf = (row: string): string =>
  `case when ${row}pub_sub and not ${row}dead then '${publicationRoute}' when ${row}subscriber_id is not null then concat('${subscriptionPrefix}', ${row}subscriber_id) else concat('${topicPrefix}', coalesce(${row}processo, '')) end`;

/** What separates a route from the key of an attempt, as SQL. */
const keySeparatorSql = `char(${keySeparator.charCodeAt(0)})`;

/**
 * Workers claim by route; a key makes a route of its own beside those of its topic or subscription. An attempt whose chain has
 * lost several workers in a row goes another way, whatever its key, because it is run alone. Bytes, because every collation of
 * these servers takes some different texts for equal.
 */
export const routeExpression = (row: string): string =>
  `cast(case when ${row}perdas >= ${isolatingLosses} then concat('${isolatedPrefix}', ${plainRouteOf(row)}) when ${row}chave_fila is null then ${plainRouteOf(row)} else concat(${plainRouteOf(row)}, ${keySeparatorSql}, ${row}chave_fila) end as binary)`;

/** The next character: where the range of isolated routes ends. */
export const afterIsolatedPrefix = String.fromCharCode(isolatedPrefix.charCodeAt(0) + 1);

/**
 * The table of sessions. MySQL's in `information_schema` fails in strict mode while any session runs a statement with characters of
 * four bytes, because it reads them all as three.
 */
export const sessions = '/*M! information_schema. *//*!80022 performance_schema. */processlist';
