import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClaimedTask } from '../../../lib/storage/attempt.js';
import type { Limit } from '../../../lib/subscribers/handler-registry.js';
import { Heap } from '../../../lib/worker/claiming/heap.js';
import { RouteMap, type LimitRoom } from '../../../lib/worker/claiming/route-map.js';

interface NamedLimit extends Limit {
  readonly name: string;
}

const limits = new Map<string, NamedLimit>();

/** Routes of one letter share the limit of that letter, which is one when the letter is a capital. */
function limitOf(route: string): NamedLimit {
  const name = route.slice(0, 1);
  const concurrency = name === name.toUpperCase() ? 10 : undefined;
  const limit = limits.get(name) ?? { name, concurrency };
  limits.set(name, limit);
  return limit;
}

const freeOf = (limit: Limit | undefined): number =>
  free[(limit as NamedLimit | undefined)?.name ?? ''] ?? Infinity;

const free: Record<string, number> = {};
const room: LimitRoom = { of: freeOf, isFull: (limit) => freeOf(limit) <= 0 };
const nobody: ReadonlySet<string> = new Set();

function mapOf(...routes: readonly (readonly [route: string, dueMs: number, priority?: number])[]): RouteMap {
  const map = new RouteMap({ of: (route) => ({ limit: limitOf(route), only: undefined }) });
  for (const [route, dueMs, priority = 50] of routes) map.learn({ route, dueMs, priority });
  return map;
}

const taken = (route: string, dueMs: number): ClaimedTask =>
  ({ route, task: { priority: 50, dueAt: new Date(dueMs) } }) as unknown as ClaimedTask;
const chosen = (map: RouteMap, most = 100, isFair = false, except = nobody): string[] =>
  map.choose(most, isFair, room, except).map(({ route }) => route);

test('a heap gives the best first, whatever came when', () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), (numbers) => {
      const heap = new Heap<number>((a, b) => a < b);
      for (const number of numbers) heap.push(number);
      const sorted: number[] = [];
      while (heap.size > 0) sorted.push(heap.pop() as number);
      expect(sorted).toEqual(numbers.toSorted((a, b) => a - b));
    }),
  );
});

test('by age the routes with the best heads are chosen, again and again until an answer says more', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 999 }), fc.integer({ min: 49, max: 51 })), {
        selector: ([n]) => n,
        minLength: 120,
        maxLength: 400,
      }),
      (heads) => {
        const map = mapOf(...heads.map(([n, priority]) => [`a${n}`, n, priority] as const));
        const best = heads
          .toSorted(([a, p], [b, q]) => q - p || a - b)
          .slice(0, 110)
          .map(([n]) => `a${n}`);
        expect(chosen(map, 110)).toEqual(best);
        expect(chosen(map, 110)).toEqual(best);
      },
    ),
    { numRuns: 30 },
  );
});

test('in turn every route is chosen before any comes again', () => {
  const map = mapOf(...Array.from({ length: 10 }, (_, n) => [`a${n}`, n] as const));
  const all = [...chosen(map, 4, true), ...chosen(map, 4, true), ...chosen(map, 2, true)];
  expect(new Set(all).size).toBe(10);
  expect(chosen(map, 4, true)).toEqual(all.slice(0, 4));
  expect(chosen(map, 50, true)).toHaveLength(10);
});

test('a handler gives no more than it has left, and comes back when it is freed', () => {
  const map = mapOf(['A1', 1], ['A2', 2], ['A3', 3], ['b1', 9]);
  free['A'] = 2;
  expect(map.choose(100, false, room, nobody)).toMatchObject([
    { route: 'A1', limit: 1 },
    { route: 'A2', limit: 1 },
    { route: 'b1', limit: 100 },
  ]);
  free['A'] = 0;
  expect(chosen(map)).toEqual(['b1']);
  free['A'] = 5;
  map.freed(limitOf('A'));
  expect(map.choose(100, false, room, nobody)[0]).toMatchObject({ route: 'A1', limit: 1 });
  expect(chosen(map)).toEqual(['A1', 'A2', 'A3', 'b1']);
  delete free['A'];
});

test('paused routes stand aside with all their keys, blocked ones alone, until that changes', () => {
  const map = mapOf(['a\u001fk', 1], ['a', 2], ['b', 3]);
  expect(chosen(map, 100, false, new Set(['a']))).toEqual(['b']);
  expect(chosen(map, 100, true, new Set(['a\u001fk']))).toEqual(['a', 'b']);
  expect(chosen(map)).toEqual(['a\u001fk', 'a', 'b']);
});

test('what a claim has emptied is forgotten, unless a ring came while it was under way', () => {
  const map = mapOf(['a', 1], ['b', 2], ['c', 3]);
  const asked = map.choose(100, false, room, nobody);
  const sentAt = map.clock;
  map.learn({ route: 'b', dueMs: 1, priority: 50 });
  map.answered(asked, [taken('c', 3)], { sentAt, isDrained: true, blocked: ['c'], more: undefined });
  expect(chosen(map)).toEqual(['b', 'c']);
});

test('behind what was taken the route goes on; what gives nothing twice is looked for again where there are many', () => {
  const map = mapOf(...Array.from({ length: 150 }, (_, n) => [`a${n}`, n] as const));
  const [asked, sentAt] = [map.choose(1, false, room, nobody), map.clock];
  const end = { sentAt, isDrained: false, blocked: [], more: undefined };
  map.answered(asked, [taken('a7', 500)], end);
  // Those that were not asked for have the best heads now.
  expect(chosen(map, 50).slice(0, 50)).toEqual(Array.from({ length: 50 }, (_, n) => `a${n + 100}`));
  expect(map.heads.size).toBe(150);
  const again = map.choose(1, false, room, nobody);
  map.answered(again, [taken('a100', 600)], { ...end, sentAt: map.clock });
  expect(map.takeForgotten()).toBe('fruitful');
  expect(map.takeForgotten()).toBe(false);
  expect(map.heads.size).toBeLessThan(150);
});

test('what an answer says of each route holds: those that have more stay, the others are forgotten at once', () => {
  const map = mapOf(['a', 1], ['b', 2], ['c', 3]);
  const [asked, sentAt] = [map.choose(1, false, room, nobody), map.clock];
  map.answered(asked, [taken('a', 1)], { sentAt, isDrained: false, blocked: [], more: ['a', 'c'] });
  expect(chosen(map)).toEqual(['a', 'c']);
  expect(map.takeForgotten()).toBe(false);
});
