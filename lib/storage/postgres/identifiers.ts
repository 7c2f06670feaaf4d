import { TarefaError } from '../../errors.js';

/** A table name as configured, taken apart. */
export interface TableName {
  /** Undefined when the name came without one: the connection's search path decides. */
  readonly schema: string | undefined;
  readonly table: string;
}

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
  /** Routes that somebody has paused. */
  readonly paused: string;
  /** What ended in the past day, by minutes. */
  readonly history: string;
  /** What is known of the endpoints of webhooks. */
  readonly webhooks: string;
  /** The key that deliveries are sealed with. */
  readonly seal: string;
  readonly migrations: string;
  readonly view: string;
}

/** PostgreSQL cuts longer ones. */
const longestIdentifier = 63;
/** Names of indexes and companions are made from it. */
const longestTable = 50;

/**
 * What is wrong with a queue table's name, or undefined. Letters, digits and underscore, at most 50 characters,
 * optionally after a schema and a dot.
 */
export function tableNameProblem(name: string): string | undefined {
  return nameProblem(name, longestTable);
}

/** The same of a subscriptions table, which may be longer: nothing is named after it. */
export function subscriptionTableNameProblem(name: string): string | undefined {
  return nameProblem(name, longestIdentifier);
}

function nameProblem(name: string, longest: number): string | undefined {
  const parts = name.split('.');
  if (parts.length > 2) return 'has more than one dot';
  for (const [index, part] of parts.entries()) {
    if (part === '') return 'has an empty part';
    const most = index === parts.length - 1 ? longest : longestIdentifier;
    if (part.length > most) return `is longer than ${most} characters`;
    if (!isPlainIdentifier(part)) {
      return 'may hold only letters, digits and underscores, and must not begin with a digit';
    }
  }
  return undefined;
}

/** What is wrong with a channel name, or undefined. Any printable ASCII without quotes, at most 63 characters. */
export function channelNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > 63) return 'is longer than 63 characters';
  for (const character of name) {
    if (character <= ' ' || character > '~' || character === '"' || character === "'" || character === '\\') {
      return `holds ${JSON.stringify(character)}, which no channel may`;
    }
  }
  return undefined;
}

/** Takes a configured table name apart; throws `OPTIONS_INVALID` when it is none. */
export function parseTableName(name: string, problemOf = tableNameProblem): TableName {
  const problem = problemOf(name);
  if (problem) throw new TarefaError('OPTIONS_INVALID', `the table name ${JSON.stringify(name)} ${problem}`);
  const [first, second] = name.split('.') as [string, string?];
  return second === undefined ? { schema: undefined, table: first } : { schema: first, table: second };
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
    history: inSchema(`${table}_history`),
    webhooks: inSchema(`${table}_webhook`),
    seal: inSchema(`${table}_seal`),
    migrations: inSchema('tarefa_migration'),
    view: inSchema(`${table}_tasks`),
  };
}

function isPlainIdentifier(name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
    const digit = code >= 48 && code <= 57;
    if (!letter && !(digit && index > 0)) return false;
  }
  return true;
}
