import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { FairShares } from '../../lib/worker/claiming/fair-shares.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();

function orderOf() {
  const order: string[] = [];
  class Noting {
    @TaskHandler('flooded')
    flooded(_: unknown, { task }: TaskContext) {
      order.push(`flooded ${task.priority}`);
    }
    @TaskHandler('quiet')
    quiet() {
      order.push('quiet');
    }
  }
  return { order, Noting };
}

test.each([
  { order: 'age' as const, first: 200 },
  { order: 'fair' as const, first: 20 },
])(
  'with order $order a quiet topic runs among the first $first of a flood',
  async ({ order: rule, first }) => {
    const { order, Noting } = orderOf();
    const { queue, worker } = await bench.start({
      handlers: [Noting],
      concurrency: 10,
      order: rule,
      autoStart: false,
    });
    await queue.insertTasks(
      Array.from({ length: 199 }, (_, index) => ({ topic: 'flooded', priority: index % 2 })),
    );
    await queue.insertTask({ topic: 'quiet', priority: -1 });
    await worker.start();
    await until(async () => order.length === 200, 'all to run');
    expect(order.indexOf('quiet')).toBeLessThan(first);
    // Within a topic the order of pick-up holds either way.
    const priorities = order.filter((one) => one !== 'quiet');
    expect(priorities).toEqual([...priorities].sort().reverse());
  },
);

test('fair shares: probes first, the rest divided, and what one cannot take goes to the others', () => {
  const shares = new FairShares();
  const routes = ['a', 'b', 'c', 'd'].map((route) => ({ route, limit: route === 'b' ? 1 : 10 }));
  const limits = () =>
    Object.fromEntries(shares.divide(routes, 10).map(({ route, limit }) => [route, limit]));
  expect(limits()).toEqual({ a: 2, b: 1, c: 2, d: 2 });
  shares.learn(routes, new Set(['a', 'b', 'c']));
  expect(limits()).toEqual({ d: 1, a: 4, b: 1, c: 5 });
  expect(shares.divide(routes, 10)[0]).toEqual({ route: 'd', limit: 1 });
  shares.learn(routes, new Set(['c']));
  expect(limits()).toEqual({ a: 1, b: 1, d: 1, c: 10 });
});

test('fair shares: with fewer slots than busy routes they take turns', () => {
  const shares = new FairShares();
  const routes = ['a', 'b', 'c'].map((route) => ({ route, limit: 10 }));
  const served = new Set<string>();
  for (let turn = 0; turn < 3; turn += 1) {
    shares.learn(routes, new Set(['a', 'b', 'c']));
    const share = shares.divide(routes, 1);
    expect(share).toHaveLength(1);
    served.add(share[0]?.route ?? '');
  }
  expect(served).toEqual(new Set(['a', 'b', 'c']));
});
