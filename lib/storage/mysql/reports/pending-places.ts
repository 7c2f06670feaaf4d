import { everyRoute } from '../read-waiting.js';
import { placeLimit } from '../../read-status.js';
import { rowsOf } from '../administration/answered.js';
import type { TextRow } from '../connections/answers.js';
import type { Run } from '../connections/transactions.js';
import type { QueueTables } from '../identifiers.js';
import { firstOfPlaces } from '../statements/status.js';
import { nextPriority } from '../statements/waiting.js';
import { walkRoutes } from '../walk-routes.js';

/** Places of one statement: its text has a part for each. */
export const mostAtOnce = 50;

/**
 * The pending attempt that is due for longest of each route and priority, at most of {@link placeLimit} of them. One that was
 * claimed meanwhile is absent.
 */
export async function readPendingPlaces(run: Run, tables: QueueTables): Promise<readonly TextRow[]> {
  const heads = await walkRoutes(run, tables.queue, [everyRoute], placeLimit, nextPriority);
  const places: TextRow[] = [];
  for (let begin = 0; begin < heads.length; begin += mostAtOnce) {
    const some = heads.slice(begin, begin + mostAtOnce);
    const values = some.flatMap(({ route, priority }) => [
      route,
      priority === null ? null : Number(priority),
    ]);
    places.push(...(await rowsOf(run, firstOfPlaces(tables, some.length), values)));
  }
  return places;
}
