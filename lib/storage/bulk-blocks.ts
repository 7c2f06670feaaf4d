import { failureMessage } from '../values/failure-text.js';
import type { BulkBlock, BulkPlace } from './admin.js';
import { blamesRow, type ErrorKind } from './error-kind.js';

/** What a block of work with many tasks is made of. */
export interface BlockWork {
  /** Does it. */
  readonly run: (place: BulkPlace) => Promise<BulkBlock>;
  /** Id of the first attempt that a block would take; undefined when there is none. */
  readonly first: (place: BulkPlace) => Promise<string | undefined>;
  readonly classify: (error: unknown) => ErrorKind;
}

/**
 * Does a block of work with many tasks. One that is refused, or that takes too long, is halved until it goes through, or is one
 * task, which is passed by: the work would meet it again at the same place for ever.
 */
export async function runBlockWithin(place: BulkPlace, work: BlockWork): Promise<BulkBlock> {
  for (let { rows } = place; ; rows = Math.ceil(rows / 2)) {
    try {
      return await work.run({ ...place, rows });
    } catch (error) {
      const kind = work.classify(error);
      const isRefused = blamesRow(kind);
      if (!isRefused && (kind !== 'timeout' || rows === 1)) throw error;
      if (rows > 1) continue;
      const id = await work.first(place);
      // It has gone, or stands otherwise now.
      if (id === undefined) return { done: 0, after: null };
      return { done: 0, after: id, refused: { id, message: failureMessage(error) } };
    }
  }
}
