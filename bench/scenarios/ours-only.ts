import type { Scenario } from '../scenario.js';

/** What is measured for this library only, and why. */
export const oursOnly = (why: string): NonNullable<Scenario['skips']> => ({
  'graphile-worker': why,
  'pg-boss': why,
  'bullmq on redis': why,
  'bullmq on postgres': why,
  bare: why,
});
