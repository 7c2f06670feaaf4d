import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks `check` again and again until it answers something other than undefined, and returns that; undefined
 * when `timeoutMs` have passed. For what the operating system does not announce: another process's file, or
 * the end of a process that is not our child.
 */
export async function waitUntil<T>(
  check: () => Promise<T | undefined> | T | undefined,
  { everyMs, timeoutMs }: { readonly everyMs: number; readonly timeoutMs: number },
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await check();
    if (answer !== undefined) return answer;
    if (performance.now() >= deadline) return undefined;
    await sleep(everyMs);
  }
}
