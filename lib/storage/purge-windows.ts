import type { QueueDatabase } from './database.js';
import type { PurgeableWindow, PurgeLook } from './upkeep.js';

/** Rows that are looked at by one statement, which takes some tens of milliseconds. */
export const mostWindowRows = 10_000;
/** A statement that takes too long for so few does not fail because of their number. */
const leastWindowRows = 100;

/** A window, and how many rows the next one should have. */
export interface FoundWindow {
  readonly window: PurgeableWindow;
  readonly rows: number;
}

/** Looks for what can be purged; where that takes too long, in a smaller window. */
export async function findWithin(
  database: Pick<QueueDatabase, 'upkeep' | 'classify'>,
  look: PurgeLook,
): Promise<FoundWindow> {
  for (let { rows } = look; ; rows = Math.ceil(rows / 2)) {
    try {
      return { window: await database.upkeep.findPurgeable({ ...look, rows }), rows };
    } catch (error) {
      if (database.classify(error) !== 'timeout' || rows <= leastWindowRows) throw error;
    }
  }
}
