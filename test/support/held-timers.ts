import { onTestFinished } from 'vitest';

/** Timers that a test lets ring, instead of waiting for them. */
export interface HeldTimers {
  /** The delays that were asked for so far, in ms. */
  readonly asked: readonly number[];
  /** How many wait. */
  readonly waiting: number;
  /** Lets the one ring whose time comes first, as if it had come; answers its delay, undefined when none waits. */
  readonly ringFirst: () => number | undefined;
}

interface HeldTimer {
  readonly ms: number;
  /** By a clock that goes on when one of them rings. */
  readonly dueAt: number;
  readonly ring: () => void;
}

/** Longer than any test takes. */
const neverMs = 2 ** 31 - 1;

/**
 * Holds all timers with these delays that are set from now on until the test ends; give the library delays that nobody else
 * asks for. Whatever else takes its time goes on in real time: connections, other timers, the server.
 */
export function holdTimers(isHeld: (ms: number) => boolean): HeldTimers {
  const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  const held = new Map<unknown, HeldTimer>();
  const asked: number[] = [];
  let now = 0;

  const set = (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
    if (!isHeld(ms)) return real.setTimeout(act, ms, ...args);
    const timer = real.setTimeout(act, neverMs, ...args);
    held.set(timer, { ms, dueAt: now + ms, ring: () => act(...args) });
    asked.push(ms);
    return timer;
  };
  const clear: typeof clearTimeout = (timer) => {
    held.delete(timer);
    real.clearTimeout(timer);
  };
  // With what else hangs on it, such as its form that answers a promise.
  globalThis.setTimeout = Object.defineProperties(
    set,
    Object.getOwnPropertyDescriptors(real.setTimeout),
  ) as typeof setTimeout;
  globalThis.clearTimeout = clear;
  onTestFinished(() => {
    Object.assign(globalThis, real);
    for (const timer of held.keys()) real.clearTimeout(timer as NodeJS.Timeout);
  });

  return {
    asked,
    get waiting() {
      return held.size;
    },
    ringFirst: () => {
      const [first] = [...held].sort(([, one], [, other]) => one.dueAt - other.dueAt);
      if (!first) return undefined;
      const [timer, { ms, dueAt, ring }] = first;
      clear(timer as NodeJS.Timeout);
      now = dueAt;
      ring();
      return ms;
    },
  };
}
