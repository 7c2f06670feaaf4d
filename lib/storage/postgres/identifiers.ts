import type { TableName } from '../../values/table-name.js';

/** Quoted names of everything that belongs to one queue, ready to stand in SQL. */
export interface QueueTables {
  /** Schema-qualified name without quotes: for messages and lock keys. */
  readonly qualifiedName: string;
  readonly schema: string;
  /** Bare table name; names of indexes, triggers and companions start with it. */
  readonly table: string;
  readonly quotedSchema: string;
  readonly queue: string;
  /** Undefined when publications are switched off. */
  readonly subscriptions: string | undefined;
  readonly workers: string;
  /** Paused routes. */
  readonly paused: string;
  /** What recurs. */
  readonly schedules: string;
  /** What ended in the past day, by minutes. */
  readonly history: string;
  /** What is known of the endpoints of webhooks. */
  readonly webhooks: string;
  /** The key that deliveries are sealed with. */
  readonly seal: string;
  readonly migrations: string;
  readonly view: string;
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes a table name without resolving it: the search path decides when it has no schema. */
export function quoteTableName({ schema, table }: TableName): string {
  return schema === undefined
    ? quoteIdentifier(table)
    : `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

/** Names of a queue whose schema is known. */
export function queueTables(
  schema: string,
  table: string,
  subscriptions: Required<TableName> | undefined,
): QueueTables {
  const quotedSchema = quoteIdentifier(schema);
  const inSchema = (name: string): string => `${quotedSchema}.${quoteIdentifier(name)}`;
  return {
    qualifiedName: `${schema}.${table}`,
    schema,
    table,
    quotedSchema,
    queue: inSchema(table),
    subscriptions: subscriptions && quoteTableName(subscriptions),
    workers: inSchema(`${table}_worker`),
    paused: inSchema(`${table}_paused`),
    schedules: inSchema(`${table}_schedule`),
    history: inSchema(`${table}_history`),
    webhooks: inSchema(`${table}_webhook`),
    seal: inSchema(`${table}_seal`),
    migrations: inSchema('tarefa_migration'),
    view: inSchema(`${table}_tasks`),
  };
}
