import { TarefaError } from '../errors.js';

/** A table name as configured, taken apart. */
export interface TableName {
  /** Undefined when the name came without one: the connection's search path decides. */
  readonly schema: string | undefined;
  readonly table: string;
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

/** What is wrong with the name of a subscriptions table, which may be longer: nothing is named after it. */
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
      return 'may contain only letters, digits and underscores, and must not begin with a digit';
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
      return `contains ${JSON.stringify(character)}, which a channel name cannot`;
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

function isPlainIdentifier(name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    const letter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
    const digit = code >= 48 && code <= 57;
    if (!letter && !(digit && index > 0)) return false;
  }
  return true;
}
