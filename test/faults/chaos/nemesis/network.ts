import { setTimeout as pause } from 'node:timers/promises';
import type { DatabaseProxy, Fault } from '../../../support/database-proxy.js';
import type { Random } from '../prng.js';
import { pickAny, type Nemesis, type World } from './nemesis.js';

const postgresPurposes = ['', 'session', 'control', 'pool'] as const;

/** A worker's network, now and then the producer's. */
function pickProxy(world: World, random: Random): DatabaseProxy | undefined {
  return random.chance(0.1) ? world.producerProxy : pickAny(world, random)?.proxy;
}

/** A fault that lasts a while, and counts when bytes met it. */
function lasting(
  kind: string,
  start: (proxy: DatabaseProxy, random: Random, purpose: string) => Fault,
  longest: number,
  { endsConnections = false, among }: { endsConnections?: boolean; among: readonly string[] },
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

type StartLosing = (proxy: DatabaseProxy, then: 'cut' | 'silent') => Fault;

/** One that waits for its answer. */
function losing(kind: string, purpose: string, start: StartLosing): Nemesis {
  return {
    kind,
    strike: async (world, random) => {
      const proxy = pickAny(world, random)?.proxy;
      if (!proxy) return undefined;
      const then = random.pick(['cut', 'silent'] as const);
      const fault = start(proxy, then);
      await Promise.race([fault.hit, pause(2_500)]);
      const isHit = fault.hits.connections > 0;
      if (isHit && then === 'silent') await pause(random.whole(200, 2_000));
      fault.lift();
      if (then === 'silent') proxy.reset(purpose);
      return isHit ? `then ${then}` : undefined;
    },
  };
}

const reset = (purposes: readonly string[]): Nemesis => ({
  kind: 'reset connections',
  strike: async (world, random) => {
    const proxy = pickProxy(world, random);
    const purpose = proxy === world.producerProxy ? '' : random.pick(purposes);
    const broken = proxy?.reset(purpose) ?? 0;
    return broken > 0 ? `${broken} connections (${purpose || 'all'})` : undefined;
  },
});

/** Faults of a network that knows nothing of what it carries, on connections with names that end so. */
function plainFaults(among: readonly string[]): readonly Nemesis[] {
  return [
    lasting('delay', (proxy, random, purpose) => proxy.delay(random.whole(20, 200), purpose), 2_000, {
      among,
    }),
    lasting('stall', (proxy, _, purpose) => proxy.stall(purpose), 3_500, { among }),
    lasting('silence', (proxy, _, purpose) => proxy.silence(purpose), 3_000, {
      endsConnections: true,
      among,
    }),
    lasting(
      'half-close',
      (proxy, random, purpose) => proxy.halfClose(random.pick(['worker', 'database'] as const), purpose),
      1_500,
      { endsConnections: true, among },
    ),
    lasting(
      'cut after n bytes',
      (proxy, random, purpose) => proxy.cutAfter(random.whole(1, 3_000), purpose),
      2_000,
      { among: among.filter((purpose) => purpose !== 'session' && purpose !== 'sleeper') },
    ),
    reset(among),
  ];
}

/** Faults of the network between workers and PostgreSQL. */
export const postgresNetworkFaults: readonly Nemesis[] = [
  ...plainFaults(postgresPurposes),
  losing('swallow the answer of COMMIT', 'pool', (proxy, then) =>
    proxy.swallow({ purpose: 'pool', message: 'C', tag: 'COMMIT', then }),
  ),
  losing('swallow the rows of a claim', 'control', (proxy, then) =>
    proxy.swallow({ purpose: 'control', message: 'D', then }),
  ),
];

const mysqlPurposes = ['', 'session', 'sleeper', 'control', 'pool'] as const;

/** Faults of the network between workers and MySQL or MariaDB. */
export const mysqlNetworkFaults: readonly Nemesis[] = [
  ...plainFaults(mysqlPurposes),
  losing('lose the answer of a completion', 'pool', (proxy, then) =>
    proxy.loseAnswer({ purpose: 'pool', to: '-- name: complete', then }),
  ),
  losing('lose the answer of a claim', 'control', (proxy, then) =>
    proxy.loseAnswer({ purpose: 'control', to: 'commit', then }),
  ),
];
