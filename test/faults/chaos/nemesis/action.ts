import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../prng.js';
import { countRunning, type Nemesis, type World } from './nemesis.js';

/** What a server can do, or have done to it, without failing: it is done, lasts a while, and is undone. */
export interface Action {
  readonly name: string;
  readonly group?: string;
  /** How often it has to be met, relative to faults. */
  readonly share?: number;
  /** Does it. Returns how it is known to be in force; undefined when it met nothing. */
  do(world: World, random: Random): Promise<string | undefined>;
  /** Undoes it, also where it was done only in part. The queue works as before afterwards. */
  undo(world: World): Promise<void>;
}

/** What the names of these faults begin with: a run leaves them all out with `--except 'server: '`. */
export const nameOf = (action: string): string => `server: ${action}`;
/** They take longer than faults do, and a run has no time for as many of each. */
const usualShare = 0.4;
const lasts = { leastMs: 500, mostMs: 2_500 };

export function nemesisOf({ name, group, share = usualShare, ...action }: Action): Nemesis {
  return {
    kind: nameOf(name),
    ...(group !== undefined && { group }),
    share,
    strike: async (world, random) => {
      const running = await countRunning(world.ground.ask);
      try {
        const met = await action.do(world, random);
        await pause(random.whole(lasts.leastMs, lasts.mostMs));
        return met !== undefined && running > 0 ? `${met}, ${running} rows in flight` : undefined;
      } finally {
        await action.undo(world);
      }
    },
  };
}

/** Whether something came to be within that time; asked again and again. An error is a no. */
export async function comes(what: () => Promise<boolean>, withinMs = 3_000): Promise<boolean> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await pause(50)) {
    if (await what().catch(() => false)) return true;
  }
  return false;
}
