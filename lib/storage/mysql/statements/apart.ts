import type { Route } from '../../attempt.js';
import type { Part } from '../claims/one-text.js';
import { routeExpression } from '../statement.js';

/** Attempts that statements leave out, and routes of which they leave out all. */
export interface LeftOut {
  readonly ids: readonly string[];
  readonly routes?: readonly Route[];
}

/** A condition on rows `f` behind others; no text where nothing is left out. Ids are written as numbers, which lose nothing. */
export function exceptApart({ ids, routes = [] }: LeftOut): Part {
  const ofIds = ids.length === 0 ? '' : ` and f.id not in (${ids.map((id) => BigInt(id)).join(',')})`;
  const ofRoutes =
    routes.length === 0
      ? ''
      : ` and ${routeExpression('f.')} not in (${routes.map(() => 'cast(? as binary)').join(', ')})`;
  return { text: ofIds + ofRoutes, values: routes };
}
