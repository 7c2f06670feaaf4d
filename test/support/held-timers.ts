import { onTestFinished } from 'vitest';

/** Timers that a test lets ring, instead of waiting for them. */
export interface HeldTimers {
  /** The delays that were asked for so far, in ms. */
  readonly asked: readonly number[];
  /** How many wait. */
  readonly waiting: number;
  /** Their clock, in ms: it stands still until one of them rings. */
  readonly nowMs: number;
  /** In how many ms, by that clock, the first of them is to ring; undefined when none waits. */
  readonly firstInMs: number | undefined;
  /** Lets that one ring, as if its time had come. */
  readonly ringFirst: () => void;
  /** Forgets them, and holds no more; the end of the test does so too. */
  readonly release: () => void;
}

interface HeldTimer {
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
  let isReleased = false;

  const set = (act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
    if (!isHeld(ms)) return real.setTimeout(act, ms, ...args);
    const timer = real.setTimeout(act, neverMs, ...args);
    held.set(timer, { dueAt: now + ms, ring: () => act(...args) });
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
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    Object.assign(globalThis, real);
    for (const timer of held.keys()) real.clearTimeout(timer as NodeJS.Timeout);
    held.clear();
  };
  onTestFinished(release);

  const first = () => [...held].sort(([, one], [, other]) => one.dueAt - other.dueAt)[0];
  return {
    asked,
    get waiting() {
      return held.size;
    },
    get nowMs() {
      return now;
    },
    get firstInMs() {
      const [, timer] = first() ?? [];
      return timer && timer.dueAt - now;
    },
    ringFirst: () => {
      const [handle, timer] = first() ?? [];
      if (!timer) throw new Error('none of these timers is set');
      clear(handle as NodeJS.Timeout);
      now = timer.dueAt;
      timer.ring();
    },
    release,
  };
}
