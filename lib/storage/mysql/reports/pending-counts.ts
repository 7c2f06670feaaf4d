import { placeLimit, readPending, rowsOfPlace } from '../../read-status.js';
import type { StatusCount } from '../../status-report.js';
import { rowsOf } from '../administration/answered.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { pendingCounts } from '../statements/status.js';
import { mostAtOnce } from './pending-places.js';

/** How many attempts are pending at some places, by topic and subscription. */
export async function readPendingCounts(
  run: Run,
  tables: QueueTables,
  places: readonly TextRow[],
): Promise<StatusCount[]> {
  const most = rowsOfPlace(places.length);
  const counted: TextRow[] = [];
  for (let begin = 0; begin < places.length; begin += mostAtOnce) {
    const some = places.slice(begin, begin + mostAtOnce);
    const values = some.flatMap(({ route, priority }, index) => [
      begin + index,
      route,
      Number(priority),
      most,
    ]);
    counted.push(...(await rowsOf(run, pendingCounts(tables, some.length), values)));
  }
  const ofPlaces = new Map<string | null, number>();
  for (const { place = null, n } of counted) ofPlaces.set(place, (ofPlaces.get(place) ?? 0) + Number(n));
  const rows = counted.map((row) => ({
    ...row,
    is_capped: (ofPlaces.get(row['place'] ?? null) ?? 0) >= most,
  }));
  return readPending(rows, places.length >= placeLimit);
}
