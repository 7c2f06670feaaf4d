import { isolatedPrefix, isolatingLosses } from '../route.js';
import type { QueueTables } from './identifiers.js';

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

/** Publications go one way, deliveries by subscription, other tasks by topic. */
const plainRoute = (row: string): string =>
  `case when ${row}pub_sub and not ${row}dead then 'p' when ${row}subscriber_id is not null then 's:' || ${row}subscriber_id else 't:' || coalesce(${row}processo, '') end`;

/**
 * Workers claim by route. An attempt whose chain has lost several workers in a row goes a way of its own, because
 * it is run alone. The index and every statement must use this very expression.
 */
export const routeExpression = (row: string): string =>
  `(case when ${row}perdas >= ${isolatingLosses} then '${isolatedPrefix}' || ${plainRoute(row)} else ${plainRoute(row)} end) collate "C"`;

/** True for rows on such a way of their own: a range of the index, which is empty nearly always. */
export const isIsolated = (row: string): string =>
  `${routeExpression(row)} >= '${isolatedPrefix}' and ${routeExpression(row)} < '${afterIsolatedPrefix}'`;

/**
 * The setting that keeps the ring trigger quiet for this transaction: the library rings for its own inserts
 * after their commit, many at once, because a NOTIFY inside a commit serialises commits.
 */
export const quietSetting = `quiet as materialized (select set_config('tarefa.quiet', 'on', true) as setting)`;

/**
 * True for rows that the planner must not look up in the running index: its dead entries pile up while some
 * session holds an old snapshot. Written so that it cannot prove that index's predicate.
 */
export const heldBy = (worker: string): string =>
  `f.status || '' = 'processando' and f.executor + 0 = ${worker}`;
