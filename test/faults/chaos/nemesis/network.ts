import { setTimeout as pause } from 'node:timers/promises';
import type { DatabaseProxy, Fault } from '../../../support/database-proxy.js';
import type { Random } from '../prng.js';
import { pickAny, type Nemesis, type World } from './nemesis.js';

const purposes = ['', 'session', 'control', 'pool'] as const;

/** A worker's network, now and then the producer's. */
function pickProxy(world: World, random: Random): DatabaseProxy | undefined {
  return random.chance(0.1) ? world.producerProxy : pickAny(world, random)?.proxy;
}

/** A fault that lasts a while, and counts when bytes met it. */
function lasting(
  kind: string,
  start: (proxy: DatabaseProxy, random: Random, purpose: string) => Fault,
  longest: number,
  {
    endsConnections = false,
    among = purposes,
  }: { endsConnections?: boolean; among?: readonly string[] } = {},
): Nemesis {
  return {
    kind,
    strike: async (world, random) => {
      const proxy = pickProxy(world, random);
      if (!proxy) return undefined;
      const purpose = proxy === world.producerProxy ? '' : random.pick(among);
      const fault = start(proxy, random, purpose);
      await pause(random.whole(longest / 4, longest));
      fault.lift();
      // What would be noticed after a minute of silence on a real network is brought to its end here.
      if (endsConnections) proxy.reset(purpose);
      const { connections, bytes } = fault.hits;
      return connections > 0
        ? `${bytes} bytes on ${connections} connections (${purpose || 'all'})`
        : undefined;
    },
  };
}

/** One that waits for its message. */
function swallowing(kind: string, purpose: string, message: 'C' | 'D', tag?: string): Nemesis {
  return {
    kind,
    strike: async (world, random) => {
      const proxy = pickAny(world, random)?.proxy;
      if (!proxy) return undefined;
      const then = random.pick(['cut', 'silent'] as const);
      const fault = proxy.swallow({ purpose, message, then, ...(tag === undefined ? {} : { tag }) });
      await Promise.race([fault.hit, pause(2_500)]);
      const isHit = fault.hits.connections > 0;
      if (isHit && then === 'silent') await pause(random.whole(200, 2_000));
      fault.lift();
      if (then === 'silent') proxy.reset(purpose);
      return isHit ? `then ${then}` : undefined;
    },
  };
}

const reset: Nemesis = {
  kind: 'reset connections',
  strike: async (world, random) => {
    const proxy = pickProxy(world, random);
    const purpose = proxy === world.producerProxy ? '' : random.pick(purposes);
    const broken = proxy?.reset(purpose) ?? 0;
    return broken > 0 ? `${broken} connections (${purpose || 'all'})` : undefined;
  },
};

/** Faults of the network between workers and database. */
export const networkFaults: readonly Nemesis[] = [
  lasting('delay', (proxy, random, purpose) => proxy.delay(random.whole(20, 200), purpose), 2_000),
  lasting('stall', (proxy, _, purpose) => proxy.stall(purpose), 3_500),
  lasting('silence', (proxy, _, purpose) => proxy.silence(purpose), 3_000, { endsConnections: true }),
  lasting(
    'half-close',
    (proxy, random, purpose) => proxy.halfClose(random.pick(['worker', 'database'] as const), purpose),
    1_500,
    { endsConnections: true },
  ),
  lasting(
    'cut after n bytes',
    (proxy, random, purpose) => proxy.cutAfter(random.whole(1, 3_000), purpose),
    2_000,
    { among: ['', 'control', 'pool'] },
  ),
  reset,
  swallowing(`swallow the answer of COMMIT`, 'pool', 'C', 'COMMIT'),
  swallowing('swallow the rows of a claim', 'control', 'D'),
];
