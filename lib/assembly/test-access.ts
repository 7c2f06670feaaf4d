import { MemoryTestAccess } from '../storage/memory/memory-test-access.js';
import { PostgresTestAccess } from '../storage/postgres/postgres-test-access.js';
import type { TestAccess } from '../storage/test-access.js';
import type { QueueBasis, QueueCore } from './core.js';
import { MemoryCore } from './memory.js';

/** Opens what tests ask of a queue besides what it does for everybody. */
export function testAccess(core: QueueBasis): TestAccess {
  if (core instanceof MemoryCore) return new MemoryTestAccess(core.database.table);
  const { connections, schema } = core as QueueCore;
  return new PostgresTestAccess(connections.inserts, schema.tables);
}
