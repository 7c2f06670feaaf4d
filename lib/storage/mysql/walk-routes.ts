import type { Route } from '../attempt.js';
import type { RouteRange } from '../waiting-route.js';
import type { Run } from './connections/transactions.js';
import {
  firstEntries,
  leap,
  leapEntries,
  leapVariables,
  nextRoute,
  type NextEntries,
} from './statements/waiting.js';

/** The first pending attempt of a route, or of a priority of it: its place in the order of pick-up. */
interface Head {
  readonly route: Route;
  readonly priority: string | null;
  /** As the server writes a time. */
  readonly due: string;
}

/** Leaps of one text, of all walks together, and how many each begins with. */
const [mostLeaps, firstLeaps] = [64, 4];

interface Walk {
  readonly range: RouteRange;
  readonly heads: Head[];
  isOver: boolean;
}

/**
 * Walks through the index of pending attempts in leaps from one route to the next, however many attempts there are. A text has
 * several, each from where the one before has come to. MySQL would skip through the index by itself, but MariaDB does not where a
 * column of it descends, and neither does in a recursive query.
 *
 * @param next from where a leap goes on: from the next route, or from the next priority of a route
 * @returns the first `limit` of these, in the order of the ranges and of pick-up
 */
export async function walkRoutes(
  run: Run,
  queue: string,
  ranges: readonly RouteRange[],
  limit: number,
  next: NextEntries,
): Promise<readonly Head[]> {
  const walks = ranges.map((range): Walk => ({ range, heads: [], isOver: false }));
  for (let leaps = firstLeaps; ; leaps *= 4) {
    const waiting = unfinished(walks, limit).slice(0, mostLeaps);
    if (waiting.length === 0) return walks.flatMap(({ heads }) => heads).slice(0, limit);
    await goOn(run, queue, waiting, Math.min(leaps, Math.floor(mostLeaps / waiting.length)), next);
  }
}

/** Those that may still lead to one of the first heads. */
function unfinished(walks: readonly Walk[], limit: number): readonly Walk[] {
  let known = 0;
  return walks.filter(({ isOver, heads }) => {
    known += heads.length;
    return !isOver && known < limit;
  });
}

async function goOn(
  run: Run,
  queue: string,
  walks: readonly Walk[],
  leaps: number,
  next: NextEntries,
): Promise<void> {
  const parts = walks.map((walk, index) => leapsOf(queue, walk, String(index), leaps, next));
  const places = parts.flatMap(({ place }) => place);
  const text = [
    ...(places.length > 0 ? [`set ${places.join(', ')}`] : []),
    ...parts.flatMap(({ texts }) => texts),
    `select ${parts.flatMap(({ read }) => read).join(', ')}`,
  ].join(';\n');
  const values = [...parts.flatMap(({ from }) => from), ...parts.flatMap(({ bounds }) => bounds)];
  const row = (await run(`-- name: walk_routes\n${text}`, values)).at(-1)?.rows[0] ?? {};
  for (const [index, walk] of walks.entries()) {
    for (let step = 1; step <= leaps && !walk.isOver; step += 1) {
      const heads = readHeads(row[`heads_${index}_${step}`]);
      walk.heads.push(...(next === nextRoute ? bestOf(heads) : heads));
      walk.isOver = Number(row[`read_${index}_${step}`] ?? 0) < leapEntries;
    }
  }
}

interface Leaps {
  /** Assignments of where the walk has come to, and their values. */
  readonly place: readonly string[];
  readonly from: readonly unknown[];
  readonly texts: readonly string[];
  readonly bounds: readonly unknown[];
  readonly read: readonly string[];
}

function leapsOf(
  queue: string,
  { range, heads }: Walk,
  name: string,
  leaps: number,
  next: NextEntries,
): Leaps {
  const names = Array.from({ length: leaps }, (_, step) => `${name}_${step + 1}`);
  const last = heads.at(-1);
  let before = leapVariables(`${name}_0`);
  const place = last ? [`${before.route} = cast(? as binary), ${before.priority} = ?`] : [];
  const texts = names.map((one, step) => {
    const selected = step === 0 && !last ? firstEntries(queue) : next(queue, before);
    before = leapVariables(one);
    return leap(selected, before);
  });
  const read = names.map((one) => {
    const variables = leapVariables(one);
    return `${variables.read} as read_${one}, ${variables.heads} as heads_${one}`;
  });
  return {
    place,
    from: last ? [last.route, last.priority === null ? null : Number(last.priority)] : [],
    texts,
    bounds: [...(last ? [] : [range.from]), ...texts.map(() => range.below)],
    read,
  };
}

/** In the order of pick-up. */
function readHeads(json: string | null | undefined): readonly Head[] {
  const found = JSON.parse(json ?? '[]') as readonly [route: string, priority: number | null, due: string][];
  return found
    .map(([route, priority, due]) => ({
      head: { route, priority: priority === null ? null : String(priority), due },
      bytes: Buffer.from(route),
      rank: priority ?? -Infinity,
    }))
    .toSorted((one, other) => Buffer.compare(one.bytes, other.bytes) || other.rank - one.rank)
    .map(({ head }) => head);
}

/** The best one of each route. */
function bestOf(heads: readonly Head[]): readonly Head[] {
  return heads.filter(({ route }, index) => heads[index - 1]?.route !== route);
}
