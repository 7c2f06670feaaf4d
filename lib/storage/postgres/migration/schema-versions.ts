import type { QueueTables } from '../identifiers.js';

/** A version of a queue's tables. */
export interface SchemaVersion {
  readonly version: number;
  /** What it brought, for people. */
  readonly what: string;
  /**
   * Statements that change rows, run in one transaction with the note of the version. Tables, columns, indexes and
   * triggers need none: they are compared with their current definitions.
   */
  readonly statements?: (tables: QueueTables) => readonly string[];
}

/** All versions, oldest first; the last one is `schemaVersion`. Tables of an older one pass through each. */
export const schemaVersions: readonly SchemaVersion[] = [
  { version: 1, what: 'columns, indexes, triggers, companions and view of the first release' },
  { version: 2, what: 'the index successor tells rounds apart, as those of deliveries and dead chains do' },
  {
    version: 3,
    what: 'inserts are filed without what only the library writes, in the round they continue; dead chains of dead deliveries; infinite times; workers announce dead routes; the key that seals deliveries; workers are halted by their rows',
  },
  { version: 4, what: 'the view calls tasks retrying that have failed and wait for their next attempt' },
  {
    version: 5,
    what: 'unique keys, keys of a route, limits, batches and consumers have their columns and indexes; rings name the route; the function that inserts',
  },
];
