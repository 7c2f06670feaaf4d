import {
  isolatedPrefix,
  isolatingLosses,
  keySeparator,
  publicationRoute,
  subscriptionPrefix,
  topicPrefix,
} from '../route.js';
import { quoteLiteral, type QueueTables } from './identifiers.js';

/** The next character: where the range of isolated routes ends. */
const afterIsolatedPrefix = String.fromCharCode(isolatedPrefix.charCodeAt(0) + 1);

/** One SQL statement of a queue: its name (prepared statement, metric) and its text. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A statement before the queue's table names are known. */
export type StatementTemplate = (tables: QueueTables) => Statement;

/** Declares a statement. The name stands in its first line, so that server logs and views show it. */
export function statement(name: string, text: (tables: QueueTables) => string): StatementTemplate {
  return (tables) => ({ name: `tarefa_${name}`, text: `-- name: ${name}\n${text(tables).trim()}` });
}

/** Counters are clamped, because SQL from outside may have put them at their maximum. One more than a claim counter. */
export const nextReservation = (row: string): string => `${row}reserva % 2147483647 + 1`;

/**
 * Milliseconds until an attempt is due: SQL over a row that is not due at `infinity`. What is due at `-infinity` is due
 * at once; before version 17 PostgreSQL refuses to subtract infinite times.
 */
export const dueInMs = (row: string): string =>
  `extract(epoch from greatest(${row}data_hora, 'epoch') - clock_timestamp()) * 1000`;

/** Publications go one way, deliveries by subscription, other tasks by topic. */
export const plainRouteOf = (row: string): string =>
  `case when ${row}pub_sub and not ${row}dead then '${publicationRoute}' when ${row}subscriber_id is not null then '${subscriptionPrefix}' || ${row}subscriber_id else '${topicPrefix}' || coalesce(${row}processo, '') end`;

/** What separates a route from the key of an attempt, as SQL. */
const keySeparatorSql = `E'\\x${keySeparator.charCodeAt(0).toString(16)}'`;

/**
 * Workers claim by route; a key makes a route of its own beside those of its topic or subscription. An attempt whose chain has
 * lost several workers in a row goes another way, whatever its key, because it is run alone. The index and every statement
 * must use this very expression.
 */
export const routeExpression = (row: string): string =>
  `(case when ${row}perdas >= ${isolatingLosses} then '${isolatedPrefix}' || ${plainRouteOf(row)} else ${plainRouteOf(row)} || coalesce(${keySeparatorSql} || ${row}chave_fila, '') end) collate "C"`;

/** True for rows on such a way of their own: a range of the index, which is empty nearly always. */
export const isIsolated = (row: string): string =>
  `${routeExpression(row)} >= '${isolatedPrefix}' and ${routeExpression(row)} < '${afterIsolatedPrefix}'`;

/** The setting that names the queue, as SQL quotes it, into which the library itself inserts in this transaction. */
export const insertsSetting = 'tarefa.inserts';

/**
 * Says that what a statement inserts into its queue is the library's own. Such rows are as they should be, so the trigger that
 * files leaves them alone, and nobody is rung for them by the table: the library rings after their commit, for many at once,
 * because a NOTIFY inside a commit serialises commits. Other queues, and what a trigger of somebody's inserts, are as ever.
 */
export const quietSetting = (queue: string): string =>
  `quiet as materialized (select set_config('${insertsSetting}', ${quoteLiteral(queue)}, true) as setting)`;

/**
 * True in a trigger of a queue for rows that others insert, not the library itself. Short, because the server parses a
 * trigger's condition for each statement.
 *
 * @param depth of triggers there: its condition is read outside of it, its function runs inside
 */
export const isInsertOfOthers = (queue: string, depth = 0): string =>
  `(current_setting('${insertsSetting}', true) is distinct from ${quoteLiteral(queue)} or pg_trigger_depth() > ${depth})`;

/** True in a transaction of which nobody is to be told: somebody has set it so, because a NOTIFY would be refused. */
export const isQuiet = `coalesce(current_setting('tarefa.quiet', true), '') = 'on'`;

/** Rings, unless this transaction is to be quiet: a scalar subquery. */
export const ringing = (channel: string, text: string): string =>
  `(select pg_notify(${channel}, ${text}) where not (${isQuiet}))`;

/**
 * True for rows that the planner must not look up in the running index: its dead entries pile up while some
 * session holds an old snapshot. Written so that it cannot prove that index's predicate.
 */
export const heldBy = (worker: string): string =>
  `f.status || '' = 'processando' and f.executor + 0 = ${worker}`;
