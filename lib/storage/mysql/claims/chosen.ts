import type { Route } from '../../attempt.js';
import {
  comparePickUp,
  inPickUpOrder,
  type ClaimRequest,
  type PickUpPlace,
  type Stretch,
} from '../../claiming/claim-request.js';
import type { TextRow } from '../connections/answers.js';
import type { Arm } from '../statements/claim-arms.js';

/** An attempt that a look has found, and the place of its stretch in the request. */
export interface Found extends PickUpPlace {
  readonly place: number;
  /** Where the look was told all of it that a claim answers. */
  readonly row?: TextRow | undefined;
}

export function readFound(row: TextRow): Found {
  const priority = row['prioridade'];
  return {
    id: String(row['id']),
    place: Number(row['place']),
    due: row['data_hora'] ?? '',
    priority: priority == null ? null : Number(priority),
    row: row['reserva'] === undefined ? undefined : row,
  };
}

/** Of what a claim has locked: the best of all, or the best of each stretch in their order. */
export function choose(request: ClaimRequest, locked: readonly Found[]): readonly Found[] {
  const best = inPickUpOrder([...locked]);
  // Stable: the order within a stretch stays.
  return withinLimits(
    request,
    request.shape === 'shared' ? best.toSorted((a, b) => a.place - b.place) : best,
  );
}

/** What a claim that counts makes of its look. */
export interface Count {
  /** The best of all, in the order of pick-up. */
  readonly wanted: readonly Found[];
  /** True when it takes less than it could, because it has not seen enough of some stretch. */
  readonly isCut: boolean;
  /** Routes that have more than is taken. */
  readonly moreRoutes: readonly Route[];
}

/**
 * What is to be locked. Of a stretch that was not seen to its end nothing is known behind the last one that was seen: what comes
 * after the first of those is left.
 */
export function count(request: ClaimRequest, looked: readonly Arm[], seen: readonly Found[]): Count {
  const ofStretch = groupBy(seen, ({ place }) => place);
  const deep = looked.filter(
    ({ place, stretch, limit }) => limit < stretch.limit && (ofStretch.get(place)?.length ?? 0) >= limit,
  );
  const lasts = deep.flatMap(({ place }) => ofStretch.get(place)?.at(-1) ?? []);
  const edge = inPickUpOrder(lasts)[0];
  const known = edge ? seen.filter((one) => comparePickUp(one, edge) <= 0) : seen;
  const wanted = withinLimits(request, inPickUpOrder([...known]));
  const taken = groupBy(wanted, ({ place }) => place);
  const isDeep = new Set(deep.map(({ place }) => place));
  const more = looked.filter(
    ({ place }) => isDeep.has(place) || (ofStretch.get(place)?.length ?? 0) > (taken.get(place)?.length ?? 0),
  );
  return { wanted, isCut: edge !== undefined, moreRoutes: routesOf(more.map(({ stretch }) => stretch)) };
}

/**
 * Where attempts that were seen are locked: from the first of each priority on, and as many as were seen. So the walk neither
 * begins before them nor goes on behind them, and takes the next ones for those that another claim was quicker to lock.
 */
export function armsAt({ stretches }: ClaimRequest, wanted: readonly Found[]): readonly Arm[] {
  const groups = groupBy(wanted, ({ place, priority }) => `${place} ${priority}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    const stretch = first && stretches[first.place];
    if (!stretch) return [];
    const { place, priority, due } = first;
    const bounds = priority === null ? undefined : { highest: priority, lowest: priority, since: due };
    return { place, stretch: { ...stretch, bounds }, limit: group.length };
  });
}

/** Routes of which less was locked than was wanted. */
export function shortRoutes(
  { stretches }: ClaimRequest,
  wanted: readonly Found[],
  locked: readonly Found[],
): readonly Route[] {
  const got = groupBy(locked, ({ place }) => place);
  const short = [...groupBy(wanted, ({ place }) => place)].filter(
    ([place, all]) => (got.get(place)?.length ?? 0) < all.length,
  );
  return routesOf(short.flatMap(([place]) => stretches[place] ?? []));
}

/** The first ones: no more of a route than its limit, and no more of all than theirs. Stretches of one route share its limit. */
function withinLimits({ stretches, total }: ClaimRequest, found: readonly Found[]): readonly Found[] {
  const left = new Map(stretches.map(({ route, limit }) => [route, limit]));
  const chosen: Found[] = [];
  for (const one of found) {
    if (chosen.length === total) break;
    const route = stretches[one.place]?.route ?? '';
    const more = left.get(route) ?? 0;
    if (more === 0) continue;
    left.set(route, more - 1);
    chosen.push(one);
  }
  return chosen;
}

function routesOf(stretches: readonly Stretch[]): readonly Route[] {
  return [...new Set(stretches.map(({ route }) => route))];
}

function groupBy<Key>(
  found: readonly Found[],
  keyOf: (one: Found) => Key,
): ReadonlyMap<Key, readonly Found[]> {
  const groups = new Map<Key, Found[]>();
  for (const one of found) {
    const group = groups.get(keyOf(one));
    if (group) group.push(one);
    else groups.set(keyOf(one), [one]);
  }
  return groups;
}
