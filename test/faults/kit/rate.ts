import { setTimeout as pause } from 'node:timers/promises';

/** How many a second come, of what is counted: over three seconds, or however long that takes on a busy machine. */
export async function perSecond(count: () => Promise<number>): Promise<number> {
  const began = performance.now();
  const before = await count();
  await pause(3_000);
  const came = (await count()) - before;
  return came / ((performance.now() - began) / 1_000);
}
