import type { StatusReport } from '../../status-report.js';
import type { Upkeep } from '../../upkeep.js';

/** Rows of a window, and windows, that are looked at for what can be purged. */
const windowRows = 10_000;
const mostWindows = 5;

/** Counts among the oldest rows; the time is checked between two windows, each of which is quick. */
export async function countPurgeable(
  upkeep: Pick<Upkeep, 'findPurgeable'>,
  olderThanDays: number,
  timeoutMs: number,
): Promise<NonNullable<StatusReport['purgeable']>> {
  const deadline = performance.now() + timeoutMs;
  let count = 0;
  let after: string | undefined;
  for (let window = 0; window < mostWindows && performance.now() < deadline; window += 1) {
    const { blocks, last, goesOn } = await upkeep.findPurgeable({
      olderThanDays,
      after,
      rows: windowRows,
      blockRows: windowRows,
    });
    count += blocks.reduce((sum, block) => sum + block.length, 0);
    if (!goesOn) return { count, isCapped: false };
    after = last;
  }
  return { count, isCapped: true };
}
