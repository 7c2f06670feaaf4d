import { setTimeout as wait } from 'node:timers/promises';

/** Waits for a time, or until Ctrl-C; false when that came. */
export async function waitOrStop(ms: number, signal: AbortSignal): Promise<boolean> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
  return !signal.aborted;
}
