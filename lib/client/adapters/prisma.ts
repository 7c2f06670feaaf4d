import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { rowsOf } from './rows.js';

/** The part of a Prisma transaction client that {@link fromPrisma} uses. */
export interface PrismaLike {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown>;
}

/**
 * Lets a task join an interactive Prisma transaction.
 *
 * @example await prisma.$transaction((tx) => queue.insertTask(task, { tx: fromPrisma(tx) }));
 * @throws {TarefaError} `INPUT_INVALID` when it is the Prisma client itself
 */
export function fromPrisma(tx: PrismaLike): SqlHandle {
  // The client of a transaction cannot connect.
  if (typeof (tx as { $connect?: unknown }).$connect === 'function') {
    throw notInTransaction('the Prisma client itself');
  }
  return {
    query: async (text, values) => ({ rows: rowsOf(await tx.$queryRawUnsafe(text, ...(values ?? []))) }),
  };
}
