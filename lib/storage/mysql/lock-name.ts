import { createHash } from 'node:crypto';

/**
 * What the names of some locks begin with, in the server's words. It takes no more than 64 characters, tells no capital letters
 * from small ones, and knows one set of names for all databases.
 *
 * @param keys what their keys begin with, up to and including the last colon
 */
export function lockPrefix(keys: string): string {
  return `tarefa:${createHash('sha256').update(keys).digest('hex').slice(0, 16)}:`;
}

/** The name of the lock with a key of `coordination/lock-names.ts`. */
export function lockName(key: string): string {
  const end = key.lastIndexOf(':') + 1;
  return lockPrefix(key.slice(0, end)) + key.slice(end);
}

/** What the names of the locks begin with that sleeping sessions of a queue hold; the numbers of their places follow. */
export function sleeperPrefix(qualifiedTable: string): string {
  return lockPrefix(`tarefa:sleeper:${qualifiedTable}:`);
}
