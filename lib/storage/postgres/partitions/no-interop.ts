import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';

/** Workers of nsj-queue-lib fail attempts without a fence: only unique indexes prevent two next attempts. */
export function noInterop({ qualifiedName }: QueueTables): TarefaError {
  return new TarefaError(
    'OPTIONS_INVALID',
    `interop: workers of nsj-queue-lib need the unique indexes that a partitioned table cannot have, and ${qualifiedName} is one: end these workers, and leave interop out`,
  );
}
