import type { Pool } from 'pg';
import type { ControlConnections } from './connections/control-connection.js';
import type { Reach } from './connections/pooler.js';
import type { PreparedSchema, SchemaRequest } from './schema/prepare-schema.js';
import type { QueueStatements } from './statements.js';
import type { StorableTexts } from './storable-texts.js';
import type { Upkeep } from './upkeep.js';

/** What a storage on PostgreSQL works with. It closes both when it is closed. */
export interface PostgresStorageParts {
  readonly pool: Pool;
  /** Undefined in a process that only produces. */
  readonly control: ControlConnections | undefined;
  /** What stands between the pool and the database. */
  readonly reach: Reach;
  /** True when workers of nsj-queue-lib serve the same table. */
  readonly interop: boolean;
  readonly schema: SchemaRequest;
  /** Told what `prepare` made, and what deserves a word. */
  readonly onPrepared?: (prepared: PreparedSchema) => void;
}

/** What is known of a queue once its tables are. */
export interface PreparedParts {
  readonly sql: QueueStatements;
  readonly prepared: PreparedSchema;
  readonly texts: StorableTexts;
  readonly upkeep: Upkeep;
}
