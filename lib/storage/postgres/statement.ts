import type { QueueTables } from './identifiers.js';

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

/**
 * Workers claim by route: publications go one way, deliveries by subscription, other tasks by topic. The
 * index and every statement must use this very expression.
 */
export const routeExpression = (row: string): string =>
  `(case when ${row}pub_sub and not ${row}dead then 'p' when ${row}subscriber_id is not null then 's:' || ${row}subscriber_id else 't:' || coalesce(${row}processo, '') end) collate "C"`;

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
