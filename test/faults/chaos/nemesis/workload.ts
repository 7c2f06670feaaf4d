import { setTimeout as pause } from 'node:timers/promises';
import { hostileRows } from '../workload/hostile.js';
import { pickAny, type Nemesis } from './nemesis.js';

/** Losses in a row after which a chain is buried. */
const always = 99;

const poison: Nemesis = {
  kind: 'task kills its process',
  group: 'poison',
  strike: async ({ producer, ground, slots }, random) => {
    const how = random.pick(['exit', 'kill', 'loop'] as const);
    const isPoison = random.chance(0.15);
    const kills = isPoison ? always : random.whole(1, 2);
    const key = await producer.insert(isPoison ? 'poison' : 'killer', { how, kills });
    const deadline = performance.now() + 4_000;
    while (performance.now() < deadline) {
      await pause(100);
      const claimer = await ground.ask.claimerOf(key);
      if (claimer === undefined) continue;
      const slot = slots.find(({ workerId }) => workerId === claimer);
      // Without one the process is gone already.
      if (slot && !(await slot.gone(4_000))) return undefined;
      return `${how}, ${isPoison ? 'always' : `${kills} times`}`;
    }
    return undefined;
  },
};

const exhaustPool: Nemesis = {
  kind: 'exhaust pool',
  group: 'poison',
  strike: async (world, random) => {
    const { producer, slots, poolSize } = world;
    const count = slots.length * (poolSize + 3);
    for (let n = 0; n < count; n += 1) await producer.insert('hog', { ms: random.whole(300, 900) });
    const deadline = performance.now() + 2_500;
    while (performance.now() < deadline) {
      for (const slot of slots) {
        const holding = (await slot.report(500))?.holding;
        if (holding && holding.open > 0 && holding.waiting > 0) {
          return `${holding.open} handlers hold a connection, ${holding.waiting} wait for one`;
        }
      }
      await pause(50);
    }
    return undefined;
  },
};

const purge: Nemesis = {
  kind: 'purge',
  strike: async (world, random) => {
    const slot = pickAny(world, random);
    if (!slot) return undefined;
    const heard = slot.hear('purged', 10_000);
    slot.order({ type: 'purge' });
    const word = await heard;
    return word && word.rows > 0 ? `${word.rows} rows` : undefined;
  },
};

/** Rows of another program, as no client would insert them, beside the ordinary tasks. */
const hostileProgram: Nemesis = {
  kind: 'hostile rows',
  strike: async ({ ground: { ask } }) => {
    // Those of the last time that stay for ever: they would keep every partition.
    await ask.dropHostile();
    const ids: string[] = [];
    for (const row of hostileRows) ids.push(await ask.insertHostile(row));
    const deadline = performance.now() + 10_000;
    while (performance.now() < deadline) {
      await pause(200);
      if (await ask.isAnyOver(ids)) return `${ids.length} rows`;
    }
    return undefined;
  },
};

/** Faults that come with the tasks themselves, and what competes with them. */
export const workloadFaults: readonly Nemesis[] = [poison, exhaustPool, purge, hostileProgram];
