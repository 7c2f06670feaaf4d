import type { Random } from '../prng.js';

/** A class of tasks: how they behave, and how they must end whatever fails around them. */
export interface TaskKind {
  readonly name: string;
  /** Topic, and so the handler. */
  readonly topic: string;
  /** How often among all tasks, relative to the others; 0: inserted by a fault only. */
  readonly share: number;
  /** True when the handler writes its effect through the task's own transaction. */
  readonly leavesEffect: boolean;
  readonly ends: 'succeeded' | 'buried';
  /** Attempts that its handler allows. */
  readonly maxAttempts: number;
  readonly delayMs?: (random: Random) => number;
  readonly payload?: (random: Random) => object;
}

/** Losses count as attempts: innocent tasks have more than enough. */
const plenty = 60;
const briefly = (random: Random): object => ({ ms: random.chance(0.7) ? 0 : random.whole(1, 40) });
const failing = (random: Random): object => ({ failures: random.whole(1, 3) });

const base = { leavesEffect: true, ends: 'succeeded', maxAttempts: plenty } as const;

/** Simple tasks; publications are in `subscriptions`. */
export const taskKinds: readonly TaskKind[] = [
  { ...base, name: 'transaction', topic: 'transaction', share: 32, payload: briefly },
  { ...base, name: 'plain', topic: 'plain', share: 30, leavesEffect: false, payload: briefly },
  { ...base, name: 'flaky transaction', topic: 'transaction', share: 5, payload: failing },
  { ...base, name: 'flaky plain', topic: 'plain', share: 5, leavesEffect: false, payload: failing },
  { ...base, name: 'doomed', topic: 'doomed', share: 2, leavesEffect: false, ends: 'buried', maxAttempts: 3 },
  {
    ...base,
    name: 'delayed',
    topic: 'transaction',
    share: 5,
    payload: briefly,
    delayMs: (random) => random.whole(200, 4_000),
  },
  { ...base, name: 'elsewhere', topic: 'elsewhere', share: 6, payload: briefly },
  {
    ...base,
    name: 'long transaction',
    topic: 'transaction',
    share: 0.4,
    payload: (random) => ({ ms: random.whole(500, 1_500) }),
  },
  {
    ...base,
    name: 'long plain',
    topic: 'plain',
    share: 0.4,
    leavesEffect: false,
    payload: (random) => ({ ms: random.whole(500, 1_500) }),
  },
  {
    ...base,
    name: 'large',
    topic: 'transaction',
    share: 0.4,
    payload: (random) => ({ ms: 0, text: 'x'.repeat(random.whole(20_000, 300_000)) }),
  },
  // Inserted by faults. The first ends its process some times and then behaves, the second always.
  { ...base, name: 'killer', topic: 'killer', share: 0 },
  { ...base, name: 'poison', topic: 'killer', share: 0, ends: 'buried' },
  { ...base, name: 'hog', topic: 'hog', share: 0 },
  // What a hog inserts while it holds a connection.
  { ...base, name: 'inserted by hog', topic: 'plain', share: 0, leavesEffect: false },
];

/** How often a publication comes, relative to the shares above. */
export const publicationShare = 4;

/** A subscription: its topic, its filter, and whether its handler leaves an effect. */
export interface TestSubscription {
  readonly id: string;
  readonly topic: string;
  readonly tenant: number | null;
  readonly leavesEffect: boolean;
}

/** Two topics with two to five deliveries each. */
export const subscriptions: readonly TestSubscription[] = [
  { id: 'news-effect', topic: 'news', tenant: null, leavesEffect: true },
  { id: 'news-plain', topic: 'news', tenant: null, leavesEffect: false },
  { id: 'orders-effect', topic: 'orders', tenant: null, leavesEffect: true },
  { id: 'orders-plain', topic: 'orders', tenant: null, leavesEffect: false },
  { id: 'orders-one', topic: 'orders', tenant: 1, leavesEffect: true },
  { id: 'orders-one-more', topic: 'orders', tenant: 1, leavesEffect: true },
  { id: 'orders-one-flaky', topic: 'orders', tenant: 1, leavesEffect: true },
  { id: 'orders-two', topic: 'orders', tenant: 2, leavesEffect: true },
];

/** Topics, subscriptions and dead handlers (`dead …`) whose success leaves an effect: what I3 goes by. */
export const effectful: readonly string[] = [
  ...new Set(taskKinds.filter(({ leavesEffect }) => leavesEffect).map(({ topic }) => topic)),
  ...subscriptions.filter(({ leavesEffect }) => leavesEffect).map(({ id }) => id),
  'dead doomed',
  'dead killer',
];

/** The kind of that name, or what publications are. */
export function findKind(name: string): Pick<TaskKind, 'ends' | 'maxAttempts'> {
  if (name === 'publication') return { ends: 'succeeded', maxAttempts: plenty };
  const kind = taskKinds.find((one) => one.name === name);
  if (!kind) throw new Error(`there is no kind of task called ${name}`);
  return kind;
}
