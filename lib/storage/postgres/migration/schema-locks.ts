import { quoteLiteral, type QueueTables } from '../identifiers.js';

/** Held for a transaction while tables of any queue are made: queues share schemas and the table of versions. */
export const schemaLockKey = `hashtextextended('tarefa:schema', 0)`;

/**
 * Held for its whole life by a command that changes a queue's tables. Asked for without waiting: a statement that
 * waits has a snapshot, and building an index concurrently waits for every snapshot.
 */
export function migrationLockKey({ qualifiedName }: QueueTables): string {
  return `hashtextextended(${quoteLiteral(`tarefa:migrate:${qualifiedName}`)}, 0)`;
}
