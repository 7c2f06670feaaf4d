/** Random numbers that are the same for the same seed: every choice of a chaos run comes from one of these. */
export interface Random {
  /** Between 0 and 1, without 1. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  /** True so often, between 0 and 1. */
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
  /** A generator of its own, so that one part's draws do not move another's. */
  fork(): Random;
}

/** Mulberry32: 32 bits of state are plenty for choosing faults. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    whole,
    chance: (share) => next() < share,
    pick: (values) => {
      if (values.length === 0) throw new Error('there is nothing to pick from');
      return values[whole(0, values.length - 1)] as (typeof values)[number];
    },
    fork: () => seededRandom(whole(0, 2 ** 32 - 1)),
  };
}
