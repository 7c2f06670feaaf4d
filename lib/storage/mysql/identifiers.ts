import type { TableName } from '../../values/table-name.js';
import type { DialectName } from './dialect.js';

/** Quoted names of everything that belongs to one queue, ready to stand in SQL. */
export interface QueueTables {
  /** Name with its database, without quotes: for messages and lock keys. */
  readonly qualifiedName: string;
  /** Name of the database. */
  readonly database: string;
  /** Bare table name; names of triggers and companions start with it. */
  readonly table: string;
  readonly quotedDatabase: string;
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
  readonly dialect: DialectName;
  /** What is held by a name where the server has no locks of its own. Only there. */
  readonly locks: string;
}

export function quoteIdentifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** On connections of ours a backslash escapes, whatever the server's mode. */
export function quoteLiteral(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Quotes a table name without resolving it: the connection's database decides when it names none. */
export function quoteTableName({ schema, table }: TableName): string {
  return schema === undefined
    ? quoteIdentifier(table)
    : `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
}

/** Names of a queue whose database is known. */
export function queueTables(
  database: string,
  table: string,
  subscriptions: Required<TableName> | undefined,
  dialect: DialectName = 'mysql',
): QueueTables {
  const quotedDatabase = quoteIdentifier(database);
  const inDatabase = (name: string): string => `${quotedDatabase}.${quoteIdentifier(name)}`;
  return {
    qualifiedName: `${database}.${table}`,
    database,
    table,
    quotedDatabase,
    queue: inDatabase(table),
    subscriptions: subscriptions && quoteTableName(subscriptions),
    workers: inDatabase(`${table}_worker`),
    paused: inDatabase(`${table}_paused`),
    schedules: inDatabase(`${table}_schedule`),
    history: inDatabase(`${table}_history`),
    webhooks: inDatabase(`${table}_webhook`),
    seal: inDatabase(`${table}_seal`),
    migrations: inDatabase('tarefa_migration'),
    view: inDatabase(`${table}_tasks`),
    dialect,
    locks: inDatabase(`${table}_lock`),
  };
}
