import { setTimeout as pause } from 'node:timers/promises';
import { hostile, hostileRows, insertHostile, isToEnd } from '../workload/hostile.js';
import { pickAny, type Nemesis } from './nemesis.js';

/** Losses in a row after which a chain is buried. */
const always = 99;

const poison: Nemesis = {
  kind: 'task kills its process',
  group: 'poison',
  strike: async ({ producer, admin, slots, ask }, random) => {
    const how = random.pick(['exit', 'kill', 'loop'] as const);
    const isPoison = random.chance(0.15);
    const kills = isPoison ? always : random.whole(1, 2);
    const key = await producer.insert(isPoison ? 'poison' : 'killer', { how, kills }, admin);
    const deadline = performance.now() + 4_000;
    while (performance.now() < deadline) {
      await pause(100);
      const [claim] = await ask<{ worker: string }>(
        `select a.new_executor::text as worker from audit a join tasks t using (id)
         where t.origem = $1 and a.new_status = 'processando'`,
        [key],
      );
      if (!claim) continue;
      const slot = slots.find(({ workerId }) => workerId === claim.worker);
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
    const { producer, admin, slots, poolSize } = world;
    const count = slots.length * (poolSize + 3);
    for (let n = 0; n < count; n += 1) await producer.insert('hog', { ms: random.whole(300, 900) }, admin);
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
  strike: async ({ ask }) => {
    // Those of the last time that stay for ever: they would keep every partition.
    await ask(
      `delete from tasks f where origem like $1 || '%' and status not in ('sucesso', 'falha') and not (${isToEnd('f')})`,
      [hostile],
    );
    const ids: string[] = [];
    for (const row of hostileRows) {
      const { sql, values } = insertHostile(row);
      ids.push(...(await ask<{ id: string }>(sql, values)).map(({ id }) => id));
    }
    const deadline = performance.now() + 10_000;
    while (performance.now() < deadline) {
      await pause(200);
      const over = await ask(
        `select from tasks where id = any($1::bigint[]) and status in ('sucesso', 'falha') limit 1`,
        [ids],
      );
      if (over.length > 0) return `${ids.length} rows`;
    }
    return undefined;
  },
};

/** Faults that come with the tasks themselves, and what competes with them. */
export const workloadFaults: readonly Nemesis[] = [poison, exhaustPool, purge, hostileProgram];
