import { byHalves } from './by-halves.js';
import type { QueueDatabase } from './database.js';
import { blamesRow } from './error-kind.js';

/** A task that stays with all its attempts, because the database refuses to delete it, or takes too long for it alone. */
export interface KeptTask {
  readonly ids: readonly string[];
  readonly error: unknown;
}

/** What became of a block. */
export interface PurgedBlock {
  /** Rows that are deleted. */
  readonly gone: number;
  readonly kept: readonly KeptTask[];
  /** True when it took too long, so that nothing is deleted: smaller ones may go through. */
  readonly isTooLarge: boolean;
}

const nothing: PurgedBlock = { gone: 0, kept: [], isTooLarge: false };

/**
 * Deletes a block of whole tasks. One that is refused, by a foreign key or a trigger, is divided by its tasks, so that those stay
 * that are to blame, and no other. What others have locked is left for the next walk.
 *
 * @param mostTries statements by which each half of it is divided; what they do not reach is left too
 */
export async function purgeBlock(
  database: Pick<QueueDatabase, 'classify' | 'upkeep'>,
  ids: readonly string[],
  mostTries = Infinity,
): Promise<PurgedBlock> {
  if (ids.length === 0) return nothing;
  try {
    return { ...nothing, gone: await database.upkeep.purge(ids) };
  } catch (error) {
    const kind = database.classify(error);
    if (kind === 'locked' || kind === 'retry') return nothing;
    if (kind !== 'timeout' && !blamesRow(kind)) throw error;
    const tasks = await database.upkeep.families(ids);
    if (tasks.length < 2) return { ...nothing, kept: [{ ids, error }] };
    return kind === 'timeout' ? { ...nothing, isTooLarge: true } : divide(database, tasks, mostTries);
  }
}

/** As a whole they were tried. */
async function divide(
  database: Pick<QueueDatabase, 'classify' | 'upkeep'>,
  tasks: readonly (readonly string[])[],
  mostTries: number,
): Promise<PurgedBlock> {
  let gone = 0;
  const kept: KeptTask[] = [];
  const half = Math.ceil(tasks.length / 2);
  for (const some of [tasks.slice(0, half), tasks.slice(half)]) {
    const { refused } = await byHalves(
      some,
      async (part) => {
        gone += await database.upkeep.purge(part.flat());
      },
      (error) => blamesRow(database.classify(error)),
      mostTries,
    );
    kept.push(...refused.map(({ one, error }) => ({ ids: one, error })));
  }
  return { gone, kept, isTooLarge: false };
}
